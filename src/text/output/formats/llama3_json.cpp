// {"name": .., "parameters": {..}} as the whole message, several separated by ";"; after <|python_tag|> also
// name.call(k="v"): Llama 3. Its templates print a single call, without a mark.
#include "text/output/formats/format.h"

namespace realizar::text {

const KnownFormat& llama3_json_format() {
  static const KnownFormat format{
      .name = "llama3",
      .signs = {R"({"name": function name, "parameters")"},
      .is_printed = false,
      .format = {.calls = CallForm{.open = "{\"name\": \"",
                                   .name_end = "\", \"parameters\": ",
                                   .close = "}",
                                   .between = "; ",
                                   .other_openers = {"<|python_tag|>", "<|python_start|>"},
                                   .other_closers = {"<|python_end|>"},
                                   .code_suffix = ".call",
                                   .reads_literals = true,
                                   .reads_bare = true}},
  };
  return format;
}

}  // namespace realizar::text
