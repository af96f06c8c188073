#include "model/arch/arch_spec.h"

namespace realizar {

std::span<const ArchSpec* const> all_architectures() {
  static constexpr const ArchSpec* kAll[] = {&kLlama, &kQwen2, &kQwen3, &kQwen3Moe, &kGemma2,
                                             &kPhi2,  &kPhi3,  &kGpt2,  &kSmolLm3};
  return kAll;
}

}  // namespace realizar
