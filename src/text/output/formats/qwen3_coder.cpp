// <tool_call><function=name><parameter=key>value</parameter></function></tool_call>: Qwen3 Coder, Nemotron 3.
#include "text/output/formats/format.h"

namespace realizar::text {

const FormatSpec& qwen3_coder_format() {
  static const FormatSpec spec{
      .format = ToolFormat::kQwen3Coder,
      .signs = {"<parameter="},
      .markers = {.opening = {"<tool_call>"},
                  .leading = {"<function="},
                  .inner = {"<parameter=", "</parameter>", "</function>", "</tool_call>"}},
      .make_reader =
          [](TextWindow& window, CallEmitter& emitter) {
            return make_xml_calls({.name_begin = "<function=",
                                   .name_ends = ">",
                                   .takes_name_end = true,
                                   .key_begin = "<parameter=",
                                   .key_end = ">",
                                   .value_begin = "",
                                   .value_end = "</parameter>",
                                   .call_end = "</function>",
                                   .section_end = "</tool_call>",
                                   .value_has_own_lines = true},
                                  window, emitter);
          },
      .required = CallSpelling{.open = "<tool_call>\n<function=",
                               .name_end = ">\n",
                               .close = "</function>\n</tool_call>",
                               .between = "\n",
                               .argument_tags = ArgumentTags{"<parameter=", ">\n", "\n</parameter>\n"}},
  };
  return spec;
}

}  // namespace realizar::text
