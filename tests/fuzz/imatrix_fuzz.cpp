// Any bytes as an importance matrix: an error, or sums and counts that fit each other and give weights.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "tools/imatrix.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace realizar;
  const auto imatrix = Imatrix::parse({reinterpret_cast<const std::byte*>(data), size}, "m.imatrix");
  if (!imatrix.ok()) return 0;
  for (const auto& [name, entry] : imatrix->entries) {
    if (entry.counts.empty() || entry.sums.size() != entry.counts.size() * entry.n_cols()) std::abort();
    const auto weights = imatrix->weights(name, entry.counts.size(), entry.n_cols());
    if (!weights.ok() || weights->size() != entry.sums.size()) std::abort();
    for (const float weight : *weights) {
      if (std::isnan(weight) || weight < 0) std::abort();
    }
  }
  return 0;
}
