// <|START_ACTION|>[{"tool_name": .., "parameters": {..}}]<|END_ACTION|>: Command R7B.
#include "text/output/formats/format.h"

namespace realizar::text {

const FormatSpec& cohere_format() {
  static const FormatSpec spec{
      .format = ToolFormat::kCohere,
      .signs = {"<|START_ACTION|>"},
      .markers = {.opening = {"<|START_ACTION|>"}, .inner = {"<|END_ACTION|>"}},
      .make_reader =
          [](TextWindow& window, CallEmitter& emitter) {
            return make_json_calls({.closing = "<|END_ACTION|>"}, window, emitter);
          },
  };
  return spec;
}

}  // namespace realizar::text
