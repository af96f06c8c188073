// functools[{"name": .., "arguments": {..}}], or in <|tool_call|> and <|/tool_call|>: Phi-4-mini, whose template only
// prints the list of tools.
#include "text/output/formats/format.h"

namespace realizar::text {

const KnownFormat& phi4_format() {
  static const KnownFormat format{
      .name = "phi4",
      .signs = {"<|/tool|>", "functools["},
      .is_printed = false,
      .format = {.calls = CallForm{.first = "<|tool_call|>[",
                                   .open = "{\"name\": \"",
                                   .name_end = "\", \"arguments\": ",
                                   .close = "}",
                                   .between = ", ",
                                   .last = "]<|/tool_call|>",
                                   .other_openers = {"functools"},
                                   .reads_literals = true,
                                   .reads_bare = true}},
  };
  return format;
}

}  // namespace realizar::text
