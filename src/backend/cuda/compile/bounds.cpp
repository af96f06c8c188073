#include "backend/cuda/compile/bounds.h"

#include <string>

#include "backend/cuda/kernels/kernels.h"

namespace realizar::cuda {
namespace {

constexpr uint32_t kMaxUsedExperts = 32;  // a lane each

// Errors: Unsupported, where a number of a model is more than `most`.
Status check_bound(const char* name, const char* what, uint64_t value, uint64_t most) {
  if (value <= most) return {};
  return unsupported("the cuda backend runs models of at most " + std::to_string(most) + " " + what +
                         ", and this one has " + std::to_string(value),
                     name);
}

Status check(const RopeStoreOp& op) {
  RZ_CHECK_OK(check_bound("head_dim", "dimensions a head", op.head_dim, kMaxHeadDim));
  return check_bound("n_heads", "heads of queries and keys", uint64_t{op.n_heads} + op.n_kv_heads, kMaxGridY);
}
Status check(const AttentionOp& op) {
  return check_bound("head_dim", "dimensions a head", op.head_dim, kMaxHeadDim);
}
Status check(const RouteOp& op) {
  RZ_CHECK_OK(check_bound("n_experts", "experts", op.n_experts, kMaxExperts));
  return check_bound("n_experts_used", "experts a token", op.n_used, kMaxUsedExperts);
}
Status check(const ExpertsOp& op) {
  return check_bound("n_experts_used", "experts a token", op.n_used, kMaxUsedExperts);
}
template <class Other>
Status check(const Other&) {
  return {};
}

}  // namespace

Status check_bounds(const Program& program) {
  for (const Op& op : program.ops) {
    RZ_CHECK_OK(std::visit([](const auto& one) { return check(one); }, op));
  }
  return {};
}

}  // namespace realizar::cuda
