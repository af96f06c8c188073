// Types of operations' fields: ids of programs, weights and activations, row sets, roles, and kinds of norms,
// activations and scores.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace realizar {

// A program that a backend has compiled.
enum class ProgramId : uint32_t {};
enum class WeightId : uint32_t {};
// Index of an activation in its program.
enum class ActId : uint32_t {};
inline constexpr WeightId kNoWeight{0xffffffffu};
inline constexpr ActId kNoAct{0xffffffffu};

// Most parallel states per row (AltUp); unused entries are kNoAct.
inline constexpr uint32_t kMaxStreams = 4;
using Streams = std::array<ActId, kMaxStreams>;
inline constexpr Streams kNoStreams{kNoAct, kNoAct, kNoAct, kNoAct};

// How devices share a matrix: not at all, by rows (some of the outputs each), or by columns (parts of all outputs).
enum class Shard : uint8_t { kWhole, kRows, kCols };

// The role of an operation in its layer, only for traces: no result depends on it.
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
inline constexpr size_t kOpRoles = static_cast<size_t>(OpRole::kFinal) + 1;
enum class OpKind : uint8_t;  // in ops.h
// "linear.qkv", "norm.attn", "attention"
std::string name_of(OpKind kind, OpRole role);

// The role of an operation and the index of its layer; -1: none.
struct OpPlace {
  OpRole role = OpRole::kNone;
  int32_t layer = -1;
  bool operator==(const OpPlace&) const = default;
};

enum class Rows : uint8_t { kAll, kLogits };
enum class NormKind : uint8_t { kRms, kLayer };
// kGelu is the tanh approximation (0.5x(1+tanh(sqrt(2/pi)(x+0.044715x^3)))), kGeluErf the exact one. kClampedSwiglu,
// only for experts, uses both of a pair: with g = min(gate, 7) and u = clamp(up, -7, 7) it is g / (1 + e^(-1.702 g)) *
// (u + 1) (gpt-oss). kNormalCdf is (1 + erf(x / sqrt(2))) / 2; times x it is kGeluErf.
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
// Parameters of kXielu, only in an Epilogue (Huang and Schlag 2024): alpha_p x^2 + beta x above 0, and
// alpha_n (e^min(x, eps) - 1 - x) + beta x elsewhere.
struct Xielu {
  float alpha_p = 0, alpha_n = 0, beta = 0, eps = 0;
  bool operator==(const Xielu&) const = default;
};
inline constexpr float kSwigluLimit = 7.0f, kSwigluAlpha = 1.702f;
// The end of a product with the sum y: activation(y) * scale; then softcap * tanh(y / softcap) where softcap > 0.
struct Epilogue {
  Activation activation = Activation::kNone;
  Xielu xielu = {};
  float scale = 1.0f;
  float softcap = 0.0f;

  // Only a factor, which distributes over sums.
  constexpr bool is_linear() const { return activation == Activation::kNone && softcap == 0; }

  template <class Visitor>
  void visit(Visitor&& v) const {
    v.trait("activation", activation, Activation::kNone);
    v.trait("alpha_p", xielu.alpha_p, 0.0f);
    v.trait("alpha_n", xielu.alpha_n, 0.0f);
    v.trait("beta", xielu.beta, 0.0f);
    v.trait("xielu_eps", xielu.eps, 0.0f);
    v.trait("scale", scale, 1.0f);
    v.trait("softcap", softcap, 0.0f);
  }
  bool operator==(const Epilogue&) const = default;
};
// Factor on a query at a position: 1 + slope * ln(1 + n_steps(pos)); 1 if the slope is 0.
struct Temperature {
  float slope = 0.0f;
  uint32_t step = 1, offset = 0;  // positions

  constexpr bool is_on() const { return slope > 0; }
  constexpr uint32_t n_steps(uint32_t pos) const { return (pos + offset) / step; }

  template <class Visitor>
  void visit(Visitor&& v) const {
    v.trait("temperature", slope, 0.0f);
    v.trait("temperature_step", step, 1u);
    v.trait("temperature_offset", offset, 0u);
  }
  bool operator==(const Temperature&) const = default;
};
// Function from a router's logits to scores: softmax over all experts, sigmoid of each, or SparseMixer without its
// noise (Liu et al. 2024, arXiv:2409.12136): for the k-th choice with logit m, its softmax among the experts not chosen
// before whose logits x are near, m - x <= near_share * max(|x|, m).
enum class RouteScore : uint8_t { kSoftmax, kSigmoid, kSparseMixer };

// Printable names, e.g. "gelu (tanh)".
const char* name_of(Rows rows);
const char* name_of(NormKind kind);
const char* name_of(Activation activation);
const char* name_of(RouteScore score);

}  // namespace realizar
