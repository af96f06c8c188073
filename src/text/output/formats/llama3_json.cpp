// {"name": .., "parameters": {..}} as the whole message; after <|python_tag|> also name.call(k="v"): Llama 3.
#include "text/output/formats/format.h"

namespace realizar::text {

const FormatSpec& llama3_json_format() {
  static const FormatSpec spec{
      .format = ToolFormat::kLlama3Json,
      .signs = {"<|python_tag|>", R"({"name": function name, "parameters")"},
      .markers = {.opening = {"<|python_tag|>"}, .bare = {"{"}},
      .make_reader =
          [](TextWindow& window, CallEmitter& emitter) {
            return make_json_or(make_literal_calls({.style = python_style(), .name_suffix = ".call"}, window, emitter),
                                {.is_bare = true}, window, emitter);
          },
      .required =
          CallSpelling{.open = "{\"name\": \"", .name_end = "\", \"parameters\": ", .close = "}", .between = "; "},
  };
  return spec;
}

}  // namespace realizar::text
