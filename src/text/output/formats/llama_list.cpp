// [name(key="text"), other()]: the system texts of Llama 3.2 and 4 describe this form; their templates print another
// one.
#include "text/output/formats/format.h"

namespace realizar::text {

const KnownFormat& llama_list_format() {
  static const KnownFormat format{
      .name = "llama_list",
      .signs = {"[func_name1(params_name1=params_value1"},
      .is_printed = true,
      .format = {.calls = CallForm{.arguments = CallForm::Arguments::kLiteral,
                                   .first = "[",
                                   .name_end = "(",
                                   .close = ")",
                                   .between = ", ",
                                   .last = "]",
                                   .tags = ArgumentTags{.key_close = "=", .between = ", ", .quote = "\""},
                                   .other_openers = {"<|python_start|>", "<|python_tag|>"},
                                   .other_closers = {"<|python_end|>"},
                                   .reads_bare = true}},
  };
  return format;
}

}  // namespace realizar::text
