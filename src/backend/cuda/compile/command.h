// An operation of a compiled program on a device: one of the program, or one for sharing between devices.
#pragma once

#include <array>
#include <variant>

#include "backend/ops.h"

namespace realizar::cuda {

// Starts the sum of a product that devices share by its inputs.
struct ClearOp {
  ActId out;
  OpPlace place = {};

  template <class Visitor>
  void visit(Visitor&& v) const {
    v.writes(out);
  }
  bool operator==(const ClearOp&) const = default;
};
// Ends it: out = (out +) scale * (bias + the sum of all devices' `part`, in device order), after an exchange.
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

// Operations for sharing are counted under the operation that they share.
inline OpKind kind_of(const Command& command) {
  if (std::holds_alternative<ClearOp>(command)) return OpKind::kExperts;
  if (std::holds_alternative<SumPartsOp>(command)) return OpKind::kLinear;
  return static_cast<OpKind>(command.index());
}

// The activations that a command reads and writes, and its weights; unused entries are kNoAct and kNoWeight.
struct CommandUses {
  std::array<ActId, 7> read{kNoAct, kNoAct, kNoAct, kNoAct, kNoAct, kNoAct, kNoAct};
  std::array<ActId, 8> written{kNoAct, kNoAct, kNoAct, kNoAct, kNoAct, kNoAct, kNoAct, kNoAct};
  std::array<WeightId, 6> weights{kNoWeight, kNoWeight, kNoWeight, kNoWeight, kNoWeight, kNoWeight};
};
CommandUses uses_of(const Command& command);

}  // namespace realizar::cuda
