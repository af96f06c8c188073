// <|tool_call|>[{"name": .., "arguments": {..}}]: Granite 3, whose template describes the form but prints no calls.
#include "text/output/formats/format.h"

namespace realizar::text {

const KnownFormat& granite_format() {
  static const KnownFormat format{
      .name = "granite",
      .signs = {"<|tool_call|>"},
      .is_printed = false,
      .format = {.calls = CallForm{.first = "<|tool_call|>[",
                                   .open = "{\"name\": \"",
                                   .name_end = "\", \"arguments\": ",
                                   .close = "}",
                                   .between = ", ",
                                   .last = "]"}},
  };
  return format;
}

}  // namespace realizar::text
