// <｜tool▁call▁begin｜>: V3 and R1 with type, name and ```json, V3.1 with name<｜tool▁sep｜>{..}.
#include "text/output/formats/format.h"

namespace realizar::text {

const FormatSpec& deepseek_format() {
  static const FormatSpec spec{
      .format = ToolFormat::kDeepSeek,
      .signs = {"<｜tool▁calls▁begin｜>"},
      .markers = {.opening = {"<｜tool▁calls▁begin｜>"},
                  .leading = {"<｜tool▁call▁begin｜>"},
                  .inner = {"<｜tool▁sep｜>", "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"}},
      .make_reader =
          [](TextWindow& window, CallEmitter& emitter) {
            return make_named_calls(
                {"<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>", "", true},
                window, emitter);
          },
      .required = CallSpelling{.open = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>",
                               .name_end = "\n```json\n",
                               .close = "\n```<｜tool▁call▁end｜>",
                               .first = "<｜tool▁calls▁begin｜>",
                               .between = "\n",
                               .last = "<｜tool▁calls▁end｜>"},
  };
  return spec;
}

}  // namespace realizar::text
