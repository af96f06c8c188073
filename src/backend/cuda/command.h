// One operation of a step, kept until the whole step is known.
#pragma once

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

}  // namespace realizar::cuda
