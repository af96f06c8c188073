// One operation of a step, kept until the whole step is known.
#pragma once

#include <array>
#include <variant>

#include "backend/ops.h"

namespace realizar::cuda {

using Command = std::variant<EmbedOp, NormOp, LinearOp, GatedLinearOp, RopeStoreOp, AttentionOp, RouteOp, ExpertsOp,
                             SelectRowsOp, ChooseOp>;

inline OpKind kind_of(const Command& command) {
  constexpr OpKind kKinds[] = {OpKind::kEmbed,      OpKind::kNorm,      OpKind::kLinear, OpKind::kGatedLinear,
                               OpKind::kRopeStore,  OpKind::kAttention, OpKind::kRoute,  OpKind::kExperts,
                               OpKind::kSelectRows, OpKind::kChoose};
  return kKinds[command.index()];
}

// The activations that a command reads and writes; what is more than those is kNoAct.
struct ActUses {
  std::array<ActId, 4> read{kNoAct, kNoAct, kNoAct, kNoAct};
  std::array<ActId, 2> written{kNoAct, kNoAct};
};
ActUses uses_of(const Command& command);

}  // namespace realizar::cuda
