#include "backend/cuda/command.h"

namespace realizar::cuda {
namespace {

ActUses uses(const EmbedOp& op) {
  return {{kNoAct, kNoAct, kNoAct, kNoAct}, {op.out, kNoAct}};
}
ActUses uses(const NormOp& op) {
  return {{op.in, op.accumulate ? op.out : kNoAct, kNoAct, kNoAct}, {op.out, kNoAct}};
}
ActUses uses(const LinearOp& op) {
  return {{op.in, op.accumulate ? op.out : kNoAct, kNoAct, kNoAct}, {op.out, kNoAct}};
}
ActUses uses(const GatedLinearOp& op) {
  return {{op.in, kNoAct, kNoAct, kNoAct}, {op.out, kNoAct}};
}
ActUses uses(const RopeStoreOp& op) {
  return {{op.q, op.k, op.v, kNoAct}, {op.q, op.k}};
}
ActUses uses(const AttentionOp& op) {
  return {{op.q, kNoAct, kNoAct, kNoAct}, {op.out, kNoAct}};
}
ActUses uses(const RouteOp& op) {
  return {{op.logits, kNoAct, kNoAct, kNoAct}, {op.weights, op.ids}};
}
ActUses uses(const ExpertsOp& op) {
  return {{op.in, op.weights, op.ids, op.out}, {op.out, kNoAct}};
}
ActUses uses(const SelectRowsOp& op) {
  return {{op.in, kNoAct, kNoAct, kNoAct}, {op.out, kNoAct}};
}
ActUses uses(const ChooseOp& op) {
  return {{op.logits, kNoAct, kNoAct, kNoAct}, {kNoAct, kNoAct}};
}

ActUses uses(const ClearOp& op) {
  return {{kNoAct, kNoAct, kNoAct, kNoAct}, {op.out, kNoAct}};
}
ActUses uses(const SumPartsOp& op) {
  return {{op.part, op.accumulate ? op.out : kNoAct, kNoAct, kNoAct}, {op.out, kNoAct}};
}

}  // namespace

ActUses uses_of(const Command& command) {
  return std::visit([](const auto& op) { return uses(op); }, command);
}

}  // namespace realizar::cuda
