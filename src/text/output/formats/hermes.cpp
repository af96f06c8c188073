// <tool_call>{"name": .., "arguments": {..}}</tool_call>: Hermes, Qwen2.5, Qwen3, MiMo.
#include "text/output/formats/format.h"

namespace realizar::text {

const FormatSpec& hermes_format() {
  static const FormatSpec spec{
      .format = ToolFormat::kHermes,
      .signs = {"<tool_call>"},
      .markers = {.opening = {"<tool_call>"}, .inner = {"</tool_call>"}},
      .make_reader = [](TextWindow& window,
                        CallEmitter& emitter) { return make_json_calls({.closing = "</tool_call>"}, window, emitter); },
      .required = CallSpelling{.open = "<tool_call>\n{\"name\": \"",
                               .name_end = "\", \"arguments\": ",
                               .close = "}\n</tool_call>",
                               .between = "\n"},
  };
  return spec;
}

}  // namespace realizar::text
