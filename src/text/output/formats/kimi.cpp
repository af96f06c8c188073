// <|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{..}<|tool_call_end|>: Kimi K2, whose templates print
// the call's id instead of its name.
#include "text/output/formats/format.h"

namespace realizar::text {

const KnownFormat& kimi_format() {
  static const KnownFormat format{
      .name = "kimi",
      .signs = {"<|tool_calls_section_begin|>"},
      .is_printed = true,
      .format = {.calls = CallForm{.arguments = CallForm::Arguments::kObjectAfter,
                                   .first = "<|tool_calls_section_begin|>",
                                   .open = "<|tool_call_begin|>functions.",
                                   .name_end = ":0<|tool_call_argument_begin|>",
                                   .close = "<|tool_call_end|>",
                                   .last = "<|tool_calls_section_end|>",
                                   .id_mark = ":"}},
  };
  return format;
}

}  // namespace realizar::text
