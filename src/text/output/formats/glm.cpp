// <tool_call>name<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>: GLM 4.5 and later.
#include "text/output/formats/format.h"

namespace realizar::text {

const FormatSpec& glm_format() {
  static const FormatSpec spec{
      .format = ToolFormat::kGlm,
      .signs = {"<arg_key>"},
      .markers = {.opening = {"<tool_call>"},
                  .inner = {"<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "</tool_call>"}},
      .make_reader =
          [](TextWindow& window, CallEmitter& emitter) {
            return make_xml_calls({.name_begin = "",
                                   .name_ends = "\n<",
                                   .takes_name_end = false,
                                   .key_begin = "<arg_key>",
                                   .key_end = "</arg_key>",
                                   .value_begin = "<arg_value>",
                                   .value_end = "</arg_value>",
                                   .call_end = "</tool_call>",
                                   .section_end = "",
                                   .value_has_own_lines = false},
                                  window, emitter);
          },
      .required = CallSpelling{.open = "<tool_call>",
                               .name_end = "\n",
                               .close = "</tool_call>",
                               .between = "\n",
                               .argument_tags = ArgumentTags{"<arg_key>", "</arg_key>\n<arg_value>", "</arg_value>\n"}},
  };
  return spec;
}

}  // namespace realizar::text
