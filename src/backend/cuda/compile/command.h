// One operation of a compiled program on a device: the program's own, or what devices do that share one.
#pragma once

#include <array>
#include <variant>

#include "backend/ops.h"

namespace realizar::cuda {

// Where devices share a product by its inputs: the sum begins with nothing,
struct ClearOp {
  ActId out;
  OpPlace place = {};

  template <class Visitor>
  void visit(Visitor&& v) const {
    v.writes(out);
  }
  bool operator==(const ClearOp&) const = default;
};
// and ends with out = (out +) scale * (bias + what each device has in `part`, in the order of devices), once all have
// it.
struct SumPartsOp {
  ActId out, part;
  uint32_t n_parts;
  WeightId bias = kNoWeight;
  bool accumulate = false;
  float scale = 1.0f;
  OpPlace place = {};

  template <class Visitor>
  void visit(Visitor&& v) const {
    accumulate ? v.adds_to(out) : v.writes(out);
    v.reads(part);
    v.vector("bias", bias);
    v.trait("scale", scale, 1.0f);
  }
  bool operator==(const SumPartsOp&) const = default;
};

template <class... Ops>
std::variant<Ops..., ClearOp, SumPartsOp> with_shared(const std::variant<Ops...>&);
using Command = decltype(with_shared(Op()));

// What devices do to share an operation counts as one of its kind.
inline OpKind kind_of(const Command& command) {
  if (std::holds_alternative<ClearOp>(command)) return OpKind::kExperts;
  if (std::holds_alternative<SumPartsOp>(command)) return OpKind::kLinear;
  return static_cast<OpKind>(command.index());
}

// The activations that a command reads and writes, and its weights; what is more than those is kNoAct and kNoWeight.
struct CommandUses {
  std::array<ActId, 7> read{kNoAct, kNoAct, kNoAct, kNoAct, kNoAct, kNoAct, kNoAct};
  std::array<ActId, 8> written{kNoAct, kNoAct, kNoAct, kNoAct, kNoAct, kNoAct, kNoAct, kNoAct};
  std::array<WeightId, 6> weights{kNoWeight, kNoWeight, kNoWeight, kNoWeight, kNoWeight, kNoWeight};
};
CommandUses uses_of(const Command& command);

}  // namespace realizar::cuda
