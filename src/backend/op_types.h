// What the operations of a forward pass are told with: weights and activations by number, which rows they are for,
// kinds of norms and activations, and what an operation is for.
#pragma once

#include <cstdint>

namespace realizar {

enum class WeightId : uint32_t {};
// An activation, by its place in its program.
enum class ActId : uint32_t {};
inline constexpr WeightId kNoWeight{0xffffffffu};
inline constexpr ActId kNoAct{0xffffffffu};

// What an operation is for, and the model's layer that it belongs to (-1: none): for traces alone, no result depends on
// them.
enum class OpRole : uint8_t {
  kNone,
  kQkv,
  kO,
  kGateUp,
  kUp,
  kDown,
  kRouter,
  kShared,
  kHead,
  kAttn,
  kFfn,
  kPost,
  kInput,
  kFinal
};
struct OpPlace {
  OpRole role = OpRole::kNone;
  int32_t layer = -1;
  bool operator==(const OpPlace&) const = default;
};

enum class Rows : uint8_t { kAll, kLogits };
enum class NormKind : uint8_t { kRms, kLayer };
// kGelu is the tanh approximation (0.5x(1+tanh(sqrt(2/pi)(x+0.044715x^3)))), kGeluErf the exact one.
// kClampedSwiglu, of experts alone, takes part in both of a pair: with g = min(gate, 7) and u = clamp(up, -7, 7) it is
// g / (1 + e^(-1.702 g)) * (u + 1) (gpt-oss). kNormalCdf is (1 + erf(x / sqrt(2))) / 2, which times x is kGeluErf.
enum class Activation : uint8_t {
  kNone,
  kSilu,
  kGelu,
  kGeluErf,
  kRelu,
  kReluSquared,
  kClampedSwiglu,
  kXielu,
  kNormalCdf,
  kSigmoid
};
// kXielu, of LinearOp alone, has numbers (Huang and Schlag 2024): alpha_p x^2 + beta x above 0, and
// alpha_n (e^min(x, eps) - 1 - x) + beta x elsewhere.
struct Xielu {
  float alpha_p = 0, alpha_n = 0, beta = 0, eps = 0;
  bool operator==(const Xielu&) const = default;
};
inline constexpr float kSwigluLimit = 7.0f, kSwigluAlpha = 1.702f;

// How people read them, e.g. "gelu (tanh)".
const char* name_of(Rows rows);
const char* name_of(NormKind kind);
const char* name_of(Activation activation);

}  // namespace realizar
