// <|tool_call>call:name{key:<|"|>text<|"|>,n:2}<tool_call|>: Gemma 4.
#include "text/output/formats/format.h"

namespace realizar::text {

const FormatSpec& gemma_format() {
  static const FormatSpec spec{
      .format = ToolFormat::kGemma,
      .signs = {"<|tool_call>call:"},
      .markers = {.opening = {"<|tool_call>"}, .inner = {"<|\"|>", "<tool_call|>"}},
      .make_reader =
          [](TextWindow& window, CallEmitter& emitter) {
            LiteralForm form{.style = {'{', '}', ':', {}, false}, .name_prefix = "call:", .closing = "<tool_call|>"};
            // Within the braces GCC 12 warns falsely of an uninitialized vector.
            form.style.quotes.emplace_back("<|\"|>");
            return make_literal_calls(std::move(form), window, emitter);
          },
  };
  return spec;
}

}  // namespace realizar::text
