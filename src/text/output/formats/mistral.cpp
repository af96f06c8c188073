// [TOOL_CALLS][{"name": .., "arguments": {..}}], or [TOOL_CALLS]name[ARGS]{..}: Mistral.
#include "text/output/formats/format.h"

namespace realizar::text {

const FormatSpec& mistral_format() {
  static const FormatSpec spec{
      .format = ToolFormat::kMistral,
      .signs = {"[TOOL_CALLS]"},
      .markers = {.opening = {"[TOOL_CALLS]"}, .inner = {"[CALL_ID]", "[ARGS]"}},
      .make_reader =
          [](TextWindow& window, CallEmitter& emitter) {
            return make_json_or(make_named_calls({"", "[ARGS]", "", "", "[CALL_ID]"}, window, emitter), {}, window,
                                emitter);
          },
      .required = CallSpelling{.open = "{\"name\": \"",
                               .name_end = "\", \"arguments\": ",
                               .close = "}",
                               .first = "[TOOL_CALLS][",
                               .between = ", ",
                               .last = "]"},
  };
  return spec;
}

}  // namespace realizar::text
