// <|tool_call_start|>[name(key="text", n=2)]<|tool_call_end|>: LFM2, and LFM2.5, which may omit the marks. Their
// templates only print calls and thoughts that are given as content.
#include "text/output/formats/format.h"

namespace realizar::text {

const KnownFormat& lfm2_format() {
  static const KnownFormat format{
      .name = "lfm2",
      .signs = {"<|tool_call_start|>", "<|tool_list_start|>", "List of tools: ["},
      .is_printed = false,
      .format = {.calls = CallForm{.arguments = CallForm::Arguments::kLiteral,
                                   .first = "<|tool_call_start|>[",
                                   .name_end = "(",
                                   .close = ")",
                                   .between = ", ",
                                   .last = "]<|tool_call_end|>",
                                   .tags = ArgumentTags{.key_close = "=", .between = ", ", .quote = "\""},
                                   .reads_bare = true},
                 .reasoning = TagPair{"<think>", "</think>"}},
  };
  return format;
}

}  // namespace realizar::text
