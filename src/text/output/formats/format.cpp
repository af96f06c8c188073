#include "text/output/formats/format.h"

#include <array>

namespace realizar::text {

std::span<const KnownFormat> known_formats() {
  static const std::array formats = {
      gpt_oss_format(),     kimi_format(), functionary_format(), lfm2_format(),   phi4_format(), granite_format(),
      llama3_json_format(), glm4_format(), internlm_format(),    hermes_format(), xlam_format(), llama_list_format(),
  };
  return formats;
}

const OutputFormat& general_format() {
  static const OutputFormat format = [] {
    OutputFormat general = hermes_format().format;
    general.calls->reads_bare = true;
    general.is_general = true;
    return general;
  }();
  return format;
}

}  // namespace realizar::text
