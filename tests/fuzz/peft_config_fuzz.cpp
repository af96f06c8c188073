// Any bytes as adapter_config.json: an error, or a config that gives modules a rank and a factor, unless its pattern
// for one takes too long.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "formats/adapter_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace realizar;
  const auto config = PeftConfig::parse({reinterpret_cast<const char*>(data), size}, "adapter_config.json");
  if (!config.ok()) return 0;
  for (const std::string_view name : {"", "q_proj", "model.layers.0.self_attn.q_proj", "lm_head", "."}) {
    const auto rank = config->rank_of(name);
    if (!rank.ok()) continue;
    if (*rank == 0) std::abort();
    static_cast<void>(config->scale_of(name, *rank));
  }
  return 0;
}
