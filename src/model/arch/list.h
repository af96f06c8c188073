// The table of architectures, with one file of this folder and one line here each. If several have the same name, those
// with a marker come first.
#pragma once

#include <span>

#include "model/arch/arch_spec.h"

namespace realizar {

extern const ArchSpec kAfMoe;
extern const ArchSpec kApertus;
extern const ArchSpec kArcee;
extern const ArchSpec kArctic;
extern const ArchSpec kBaichuan;
extern const ArchSpec kBailingMoe2;
extern const ArchSpec kBert, kXlmRoberta, kFlashRoberta;
extern const ArchSpec kNomicBert, kNomicBertMoe, kJinaBertV2, kJinaBertV3;
extern const ArchSpec kModernBert, kEuroBert;
extern const ArchSpec kBitNet;
extern const ArchSpec kBloom;
extern const ArchSpec kChatGlm, kChatGlm2;
extern const ArchSpec kCodeShell;
extern const ArchSpec kCommandR, kCohere2;
extern const ArchSpec kDbrx;
extern const ArchSpec kDeepseek;
extern const ArchSpec kDeepseek2;
extern const ArchSpec kDots1;
extern const ArchSpec kErnie45, kErnie45Moe;
extern const ArchSpec kExaone, kExaone4;
extern const ArchSpec kFalcon, kFalconTwoNorms, kFalconRw;
extern const ArchSpec kFalconH1;
extern const ArchSpec kGemma;
extern const ArchSpec kGemma2;
extern const ArchSpec kGemma3, kGemmaEmbedding;
extern const ArchSpec kGemma3n;
extern const ArchSpec kGemma4, kGemma4Moe;
extern const ArchSpec kGlm4;
extern const ArchSpec kGlm4Moe;
extern const ArchSpec kGpt2, kStarCoder;
extern const ArchSpec kGptJ;
extern const ArchSpec kGptNeoX;
extern const ArchSpec kGptOss;
extern const ArchSpec kGranite, kGraniteMoe;
extern const ArchSpec kGraniteHybrid, kBamba;
extern const ArchSpec kGrok, kGrok1;
extern const ArchSpec kHunYuanDense, kHunYuanMoe;
extern const ArchSpec kInternLm2;
extern const ArchSpec kJais;
extern const ArchSpec kJamba;
extern const ArchSpec kKimiLinear;
extern const ArchSpec kLfm2, kLfm2Moe;
extern const ArchSpec kLlama;
extern const ArchSpec kLlama4;
extern const ArchSpec kMamba;
extern const ArchSpec kMamba2;
extern const ArchSpec kMiniCpm;
extern const ArchSpec kMiniCpm3;
extern const ArchSpec kMiniMaxM2;
extern const ArchSpec kMistral3;
extern const ArchSpec kMistral4;
extern const ArchSpec kMpt;
extern const ArchSpec kNemotron;
extern const ArchSpec kNemotronH, kNemotronHMoe;
extern const ArchSpec kOlmo;
extern const ArchSpec kOlmo2;
extern const ArchSpec kOlmoe;
extern const ArchSpec kOpenElm;
extern const ArchSpec kOrion;
extern const ArchSpec kPhi2, kPhi3, kPhiMoe;
extern const ArchSpec kQwen, kQwen2, kQwen2Moe, kQwen3, kQwen3Moe;
extern const ArchSpec kQwen3Next, kQwen35, kQwen35Moe;
extern const ArchSpec kRefact;
extern const ArchSpec kRwkv7;
extern const ArchSpec kSeedOss;
extern const ArchSpec kSmallThinker;
extern const ArchSpec kSmolLm3;
extern const ArchSpec kStableLm;
extern const ArchSpec kStarCoder2;
extern const ArchSpec kXverse;

inline std::span<const ArchSpec* const> all_architectures() {
  static constexpr const ArchSpec* kAll[] = {
      &kLlama,        &kQwen2,        &kQwen3,          &kQwen3Moe,     &kGemma,         &kGemma2,
      &kGemma3,       &kPhi2,         &kPhi3,           &kGpt2,         &kSmolLm3,       &kFalconTwoNorms,
      &kFalconRw,     &kFalcon,       &kGptNeoX,        &kStarCoder2,   &kStableLm,      &kOlmo2,
      &kGranite,      &kCommandR,     &kGlm4,           &kCohere2,      &kInternLm2,     &kMiniCpm,
      &kBaichuan,     &kExaone,       &kExaone4,        &kNemotron,     &kSeedOss,       &kArcee,
      &kErnie45,      &kOrion,        &kXverse,         &kQwen,         &kStarCoder,     &kCodeShell,
      &kChatGlm,      &kQwen2Moe,     &kGptOss,         &kDeepseek2,    &kMamba2,        &kMistral4,
      &kMistral3,     &kOlmo,         &kHunYuanDense,   &kBitNet,       &kQwen3Next,     &kQwen35,
      &kQwen35Moe,    &kLfm2,         &kLfm2Moe,        &kKimiLinear,   &kGlm4Moe,       &kOlmoe,
      &kGraniteMoe,   &kDeepseek,     &kErnie45Moe,     &kDots1,        &kBailingMoe2,   &kMiniMaxM2,
      &kLlama4,       &kPhiMoe,       &kDbrx,           &kHunYuanMoe,   &kGemma4Moe,     &kGemma4,
      &kBloom,        &kMpt,          &kRefact,         &kJais,         &kMiniCpm3,      &kOpenElm,
      &kApertus,      &kAfMoe,        &kSmallThinker,   &kArctic,       &kGrok,          &kBert,
      &kJinaBertV3,   &kFlashRoberta, &kXlmRoberta,     &kMamba,        &kGraniteHybrid, &kNemotronH,
      &kNemotronHMoe, &kJamba,        &kFalconH1,       &kNomicBertMoe, &kNomicBert,     &kJinaBertV2,
      &kModernBert,   &kEuroBert,     &kGemmaEmbedding, &kBamba,        &kChatGlm2,      &kGrok1,
      &kGemma3n,      &kGptJ,         &kRwkv7};
  return kAll;
}

}  // namespace realizar
