// The table of architectures: a file of this folder and a line here each.
#pragma once

#include <span>

#include "model/arch/arch_spec.h"

namespace realizar {

extern const ArchSpec kGemma2;
extern const ArchSpec kGemma3;
extern const ArchSpec kGpt2;
extern const ArchSpec kLlama;
extern const ArchSpec kPhi2, kPhi3;
extern const ArchSpec kQwen2, kQwen3, kQwen3Moe;
extern const ArchSpec kSmolLm3;

inline std::span<const ArchSpec* const> all_architectures() {
  static constexpr const ArchSpec* kAll[] = {&kLlama,  &kQwen2, &kQwen3, &kQwen3Moe, &kGemma2,
                                             &kGemma3, &kPhi2,  &kPhi3,  &kGpt2,     &kSmolLm3};
  return kAll;
}

}  // namespace realizar
