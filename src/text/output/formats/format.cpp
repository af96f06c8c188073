#include "text/output/formats/format.h"

#include <algorithm>
#include <array>

namespace realizar::text {

std::span<const FormatSpec* const> all_formats() {
  static const std::array formats = {
      &gpt_oss_format(), &deepseek_format(), &kimi_format(), &cohere_format(),  &gemma_format(),  &qwen3_coder_format(),
      &glm_format(),     &mistral_format(),  &lfm2_format(), &granite_format(), &hermes_format(), &llama3_json_format(),
  };
  return formats;
}

const FormatSpec* spec_of(ToolFormat format) {
  const auto all = all_formats();
  const auto found = std::ranges::find(all, format, &FormatSpec::format);
  return found == all.end() ? nullptr : *found;
}

}  // namespace realizar::text
