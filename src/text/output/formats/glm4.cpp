// The name, a line break and an object, as the whole message: GLM-4 9B and 0414, ChatGLM3, whose templates print calls
// as messages with a header.
#include "text/output/formats/format.h"

namespace realizar::text {

const KnownFormat& glm4_format() {
  static const KnownFormat format{
      .name = "glm4",
      .signs = {"<|assistant|>{{ metadata }}", "'<|assistant|>' + metadata", "<|assistant|>{{ m.metadata",
                "<|assistant|>{{ message['metadata']", "<|assistant|>{{ message.metadata",
                "在调用上述函数时，请使用 Json 格式表示调用的参数"},
      .is_printed = true,
      .format = {.calls = CallForm{.arguments = CallForm::Arguments::kObjectAfter,
                                   .name_end = "\n",
                                   .is_single = true,
                                   .other_openers = {"<|assistant|>"},
                                   .reads_bare = true}},
  };
  return format;
}

}  // namespace realizar::text
