// <|tool_call|>[{"name": .., "arguments": {..}}]: Granite 3.
#include "text/output/formats/format.h"

namespace realizar::text {

const FormatSpec& granite_format() {
  static const FormatSpec spec{
      .format = ToolFormat::kGranite,
      .signs = {"<|tool_call|>"},
      .markers = {.opening = {"<|tool_call|>"}},
      .make_reader = [](TextWindow& window, CallEmitter& emitter) { return make_json_calls({}, window, emitter); },
      .required = CallSpelling{.open = "{\"name\": \"",
                               .name_end = "\", \"arguments\": ",
                               .close = "}",
                               .first = "<|tool_call|>[",
                               .between = ", ",
                               .last = "]"},
  };
  return spec;
}

}  // namespace realizar::text
