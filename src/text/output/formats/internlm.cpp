// <|action_start|><|plugin|>{"name": .., "parameters": {..}}<|action_end|>: InternLM 2 to 3, whose templates only print
// texts.
#include "text/output/formats/format.h"

namespace realizar::text {

const KnownFormat& internlm_format() {
  static const KnownFormat format{
      .name = "internlm",
      .signs = {"<|plugin|>", "<|action_start|>"},
      .is_printed = false,
      .format = {.calls = CallForm{.open = "<|action_start|><|plugin|>{\"name\": \"",
                                   .name_end = "\", \"parameters\": ",
                                   .close = "}<|action_end|>"}},
  };
  return format;
}

}  // namespace realizar::text
