// Any bytes as a Modelfile.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cli/modelfile.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = realizar::cli::parse_modelfile(text);
  if (!file.ok()) return 0;
  const size_t n_bytes = file->from.size() + file->system.value_or("").size() + file->chat_template.value_or("").size();
  if (file->from.empty() || n_bytes > size) std::abort();
  return 0;
}
