#include "backend/ops.h"

#include <array>

namespace realizar {
namespace {

template <size_t... kinds>
constexpr auto names(std::index_sequence<kinds...>) {
  return std::array{std::variant_alternative_t<kinds, Op>::kName...};
}
constexpr auto kNames = names(std::make_index_sequence<kOpKinds>());

const char* to_string(OpRole role) {
  switch (role) {
    case OpRole::kNone:
      return "";
    case OpRole::kQkv:
      return "qkv";
    case OpRole::kO:
      return "o";
    case OpRole::kGateUp:
      return "gate_up";
    case OpRole::kUp:
      return "up";
    case OpRole::kDown:
      return "down";
    case OpRole::kRouter:
      return "router";
    case OpRole::kShared:
      return "shared";
    case OpRole::kHead:
      return "head";
    case OpRole::kAttn:
      return "attn";
    case OpRole::kFfn:
      return "ffn";
    case OpRole::kInput:
      return "input";
    case OpRole::kPost:
      return "post";
    case OpRole::kFinal:
      return "final";
  }
  return "unknown";
}

}  // namespace

const char* name_of(Rows rows) {
  return rows == Rows::kAll ? "rows" : "logit rows";
}

const char* name_of(NormKind kind) {
  return kind == NormKind::kRms ? "rms" : "layer";
}

const char* name_of(Activation activation) {
  switch (activation) {
    case Activation::kNone:
      return "none";
    case Activation::kSilu:
      return "silu";
    case Activation::kGelu:
      return "gelu (tanh)";
    case Activation::kGeluErf:
      return "gelu (erf)";
    case Activation::kRelu:
      return "relu";
    case Activation::kReluSquared:
      return "relu squared";
    case Activation::kXielu:
      return "xielu";
    case Activation::kClampedSwiglu:
      return "clamped swiglu";
    case Activation::kNormalCdf:
      return "normal cdf";
    case Activation::kSigmoid:
      return "sigmoid";
  }
  return "unknown";
}

const char* name_of(RouteScore score) {
  switch (score) {
    case RouteScore::kSoftmax:
      return "softmax";
    case RouteScore::kSigmoid:
      return "sigmoid";
    case RouteScore::kSparseMixer:
      return "sparse mixer";
  }
  return "unknown";
}

std::string name_of(OpKind kind, OpRole role) {
  std::string name = kNames[static_cast<size_t>(kind)];
  if (role != OpRole::kNone) name += std::string(".") + to_string(role);
  return name;
}

}  // namespace realizar
