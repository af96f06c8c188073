// <|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{..}<|tool_call_end|>: Kimi K2.
#include "text/output/formats/format.h"

namespace realizar::text {

const FormatSpec& kimi_format() {
  static const FormatSpec spec{
      .format = ToolFormat::kKimi,
      .signs = {"<|tool_calls_section_begin|>"},
      .markers = {.opening = {"<|tool_calls_section_begin|>"},
                  .leading = {"<|tool_call_begin|>"},
                  .inner = {"<|tool_call_argument_begin|>", "<|tool_call_end|>", "<|tool_calls_section_end|>"}},
      .make_reader =
          [](TextWindow& window, CallEmitter& emitter) {
            return make_named_calls({"<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>",
                                     "<|tool_calls_section_end|>", ":"},
                                    window, emitter);
          },
      .required = CallSpelling{.open = "<|tool_call_begin|>functions.",
                               .name_end = ":0<|tool_call_argument_begin|>",
                               .close = "<|tool_call_end|>",
                               .first = "<|tool_calls_section_begin|>",
                               .last = "<|tool_calls_section_end|>"},
  };
  return spec;
}

}  // namespace realizar::text
