#include "backend/cuda/compile/bounds.h"

#include <algorithm>
#include <string>
#include <vector>

#include "backend/cuda/kernels/kernels.h"
#include "base/try.h"

namespace realizar::cuda {
namespace {

constexpr uint32_t kMaxUsedExperts = 32;  // one per lane

// Errors: Unsupported if a model's number exceeds `most`.
Status check_bound(const char* name, const char* what, uint64_t value, uint64_t most) {
  if (value <= most) return {};
  return unsupported("the cuda backend runs models of at most " + std::to_string(most) + " " + what +
                         ", and this one has " + std::to_string(value),
                     name);
}

Status check(const RopeStoreOp& op) {
  RZ_CHECK_OK(check_bound("head_dim", "dimensions per head", op.head_dim, kMaxWideHeadDim));
  return check_bound("n_heads", "heads of queries and keys", uint64_t{op.n_heads} + op.n_kv_heads, kMaxGridY);
}
Status check(const HeadLinearOp& op) {
  return check_bound("n_heads", "outputs of all heads per latent", uint64_t{op.n_heads} * op.out_width,
                     kMaxMatrixRows - 8 * uint64_t{op.n_heads});
}
Status check(const LatentStoreOp& op) {
  RZ_CHECK_OK(check_bound("latent_dim", "dimensions per latent", op.latent_dim, kMaxLatentDim));
  RZ_CHECK_OK(check_bound("n_rot", "rotated dimensions per latent key", op.n_rot, kMaxLatentKeyDim - kMaxLatentDim));
  return check_bound("n_heads", "heads of queries", op.n_heads, kMaxGridY - 1);
}
Status check(const AttentionOp& op) {
  if (op.latent_dim > 0) return {};  // checked by LatentStoreOp
  if (op.slopes != kNoWeight) {
    return check_bound("head_dim", "dimensions per head with ALiBi", op.head_dim, kMaxHeadDim);
  }
  return check_bound("head_dim", "dimensions per head", op.head_dim, kMaxWideHeadDim);
}
Status check(const RouteOp& op) {
  RZ_CHECK_OK(check_bound("n_experts", "experts", op.n_experts, kMaxExperts));
  RZ_CHECK_OK(check_bound("n_expert_groups", "groups of experts", op.n_groups, kMaxExpertGroups));
  return check_bound("n_experts_used", "experts per token", op.n_used, kMaxUsedExperts);
}
Status check(const ExpertsOp& op) {
  return check_bound("n_experts_used", "experts per token", op.n_used, kMaxUsedExperts);
}
Status check(const ShortConvOp& op) {
  return check_bound("conv_kernel", "convolution taps", op.n_taps, kMaxConvTaps);
}
Status check(const StateScanOp& op) {
  return check_bound("d_state", "state elements per dimension", op.d_state, kMaxStateDim);
}
Status check(const DeltaRuleOp& op) {
  return check_bound("key_dim", "dimensions per delta rule key", op.key_dim, kMaxKeyDim);
}
Status check(const WkvOp& op) {
  return check_bound("head_dim", "dimensions per time mix head", op.head_dim, kMaxKeyDim);
}
template <class Other>
Status check(const Other&) {
  return {};
}

Error cannot_share(const char* name, const std::string& whose_layers) {
  return unsupported(
      "cuda devices cannot share the layers of a model " + whose_layers + ": give each device layers of its own", name);
}

// A device with only some of the heads, or some of an ffn's columns, cannot normalize them together.
Status check_norms_of_heads(const Program& program) {
  std::vector<ActId> heads;
  for (const Op& op : program.ops) {
    if (const auto* store = std::get_if<RopeStoreOp>(&op)) heads.insert(heads.end(), {store->q, store->k, store->v});
    if (const auto* attention = std::get_if<AttentionOp>(&op)) heads.push_back(attention->out);
    if (const auto* gated = std::get_if<GatedLinearOp>(&op)) heads.push_back(gated->out);
  }
  for (const Op& op : program.ops) {
    const auto* norm = std::get_if<NormOp>(&op);
    if (norm == nullptr || std::ranges::find(heads, norm->out) == heads.end()) continue;
    return cannot_share("qk_norm", "that normalizes its heads, or its ffn, as a whole");
  }
  return {};
}

// All heads read the same latent, states are not split, and neither are vectors of heads or experts.
Status check_parts(const Op& op) {
  if (std::holds_alternative<LatentStoreOp>(op)) return cannot_share("latent_dim", "with latent attention");
  if (std::holds_alternative<AdapterDownOp>(op)) return cannot_share("lora", "with adapters");
  if (std::holds_alternative<AltUpOp>(op)) return cannot_share("n_streams", "with several streams (AltUp)");
  if (std::holds_alternative<CutOp>(op)) return cannot_share("activation_sparsity", "whose ffns are cut by their row");
  const bool is_recurrent = std::holds_alternative<ShortConvOp>(op) || std::holds_alternative<StateScanOp>(op) ||
                            std::holds_alternative<DeltaRuleOp>(op) || std::holds_alternative<WkvOp>(op);
  if (is_recurrent) return cannot_share("layers", "with recurrent layers");
  if (const auto* attention = std::get_if<AttentionOp>(&op)) {
    if (attention->sinks != kNoWeight) return cannot_share("sinks", "with attention sinks");
    if (attention->slopes != kNoWeight) return cannot_share("slopes", "with ALiBi");
  }
  const auto* experts = std::get_if<ExpertsOp>(&op);
  const bool has_biases = experts != nullptr && experts->gate_bias != kNoWeight;
  return has_biases ? Status(cannot_share("expert_biases", "with biases of experts")) : Status();
}

bool is_exchange(const Op& op) {
  return std::holds_alternative<JoinOp>(op) || std::holds_alternative<CollectOp>(op) ||
         std::holds_alternative<SendOp>(op) || std::holds_alternative<ReceiveOp>(op);
}

}  // namespace

Status check_bounds(const Program& program, const Runners& runners) {
  if (runners.has_processes && runners.n_devices > 1) {
    return unsupported("processes that share a model have one GPU each, and this one has " +
                           std::to_string(runners.n_devices) + ": start one process for each GPU",
                       "device");
  }
  if (!runners.has_processes && std::ranges::any_of(program.ops, is_exchange)) {
    return unsupported("the program is one of processes that share a model, and this backend has no others", "split");
  }
  if (runners.is_shared) RZ_CHECK_OK(check_norms_of_heads(program));
  for (const Op& op : program.ops) {
    if (runners.is_shared) RZ_CHECK_OK(check_parts(op));
    RZ_CHECK_OK(std::visit([](const auto& one) { return check(one); }, op));
  }
  return {};
}

}  // namespace realizar::cuda
