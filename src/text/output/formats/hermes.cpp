// <tool_call>{"name": .., "arguments": {..}}</tool_call>: templates that describe the form to the model, but print no
// calls.
#include "text/output/formats/format.h"

namespace realizar::text {

const KnownFormat& hermes_format() {
  static const KnownFormat format{
      .name = "hermes",
      .signs = {"<tool_call>"},
      .is_printed = false,
      .format = {.calls = CallForm{.open = "<tool_call>\n{\"name\": \"",
                                   .name_end = "\", \"arguments\": ",
                                   .close = "}\n</tool_call>",
                                   .between = "\n"}},
  };
  return format;
}

}  // namespace realizar::text
