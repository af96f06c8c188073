// One operation of a step, kept until the whole step is known.
#pragma once

#include <array>
#include <variant>

#include "backend/ops.h"

namespace realizar::cuda {

// Where devices share a product by its inputs: the sum begins with nothing,
struct ClearOp {
  ActId out;
  OpPlace place = {};
  bool operator==(const ClearOp&) const = default;
};
// and ends with out = (out +) bias + what each device has in `part`, in the order of devices, once all have it.
struct SumPartsOp {
  ActId out, part;
  uint32_t n_parts;
  WeightId bias = kNoWeight;
  bool accumulate = false;
  OpPlace place = {};
  bool operator==(const SumPartsOp&) const = default;
};

using Command = std::variant<EmbedOp, NormOp, LinearOp, GatedLinearOp, RopeStoreOp, AttentionOp, RouteOp, ExpertsOp,
                             SelectRowsOp, ChooseOp, ClearOp, SumPartsOp>;

// What is wanted for a product counts as one.
inline OpKind kind_of(const Command& command) {
  constexpr OpKind kKinds[] = {OpKind::kEmbed,      OpKind::kNorm,      OpKind::kLinear,  OpKind::kGatedLinear,
                               OpKind::kRopeStore,  OpKind::kAttention, OpKind::kRoute,   OpKind::kExperts,
                               OpKind::kSelectRows, OpKind::kChoose,    OpKind::kExperts, OpKind::kLinear};
  return kKinds[command.index()];
}

// The activations that a command reads and writes; what is more than those is kNoAct.
struct ActUses {
  std::array<ActId, 4> read{kNoAct, kNoAct, kNoAct, kNoAct};
  std::array<ActId, 2> written{kNoAct, kNoAct};
};
ActUses uses_of(const Command& command);

}  // namespace realizar::cuda
