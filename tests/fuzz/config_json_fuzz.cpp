// Any bytes as config.json: an error or metadata whose every value can be read and printed.
#include <cstdint>
#include <string_view>

#include "formats/hf_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace realizar;
  const auto config = parse_hf_config({reinterpret_cast<const char*>(data), size}, "config.json");
  if (!config.ok()) return 0;
  for (const auto& [key, value] : config->metadata.entries()) {
    (void)to_string(value);
    (void)config->metadata.get_int(key);
    (void)config->metadata.get_double(key);
    (void)config->metadata.get_ints(key);
    (void)config->metadata.get_doubles(key);
    (void)config->metadata.get_strings(key);
  }
  return 0;
}
