// <|tool_call_start|>[name(key="text", n=2)]<|tool_call_end|>: LFM2.
#include "text/output/formats/format.h"

namespace realizar::text {

const FormatSpec& lfm2_format() {
  static const FormatSpec spec{
      .format = ToolFormat::kLfm2,
      .signs = {"<|tool_call_start|>", "<|tool_list_start|>"},
      .markers = {.opening = {"<|tool_call_start|>"}, .inner = {"<|tool_call_end|>"}},
      .make_reader =
          [](TextWindow& window, CallEmitter& emitter) {
            return make_json_or(
                make_literal_calls({.style = python_style(), .closing = "<|tool_call_end|>"}, window, emitter),
                {.closing = "<|tool_call_end|>"}, window, emitter);
          },
  };
  return spec;
}

}  // namespace realizar::text
