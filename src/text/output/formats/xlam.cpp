// [{"name": .., "arguments": {..}}] as the whole message: xLAM, whose templates describe the form but print no calls.
#include "text/output/formats/format.h"

namespace realizar::text {

const KnownFormat& xlam_format() {
  static const KnownFormat format{
      .name = "xlam",
      .signs = {"\"tool_calls\": [", "[{\"name\": \"func_name1\", \"arguments\"", "list of JSON function calls"},
      .is_printed = false,
      .format = {.calls = CallForm{.first = "[",
                                   .open = "{\"name\": \"",
                                   .name_end = "\", \"arguments\": ",
                                   .close = "}",
                                   .between = ", ",
                                   .last = "]",
                                   .reads_bare = true}},
  };
  return format;
}

}  // namespace realizar::text
