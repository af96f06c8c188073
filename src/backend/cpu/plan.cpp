#include "backend/cpu/plan.h"

#include <algorithm>
#include <string>

#include "backend/cpu/attention.h"
#include "backend/cpu/matmul.h"
#include "backend/program.h"
#include "base/try.h"

namespace realizar::cpu {
namespace {

// The inputs of a rotation's angles, apart from the position.
struct Rotation {
  WeightId inv_freq = kNoWeight;
  float scale = 0;
  uint32_t n_rot = 0;
  bool operator==(const Rotation&) const = default;
};

class Planner {
 public:
  Planner(const KernelTable& kernels, const WeightStore& weights, const BackendLimits& limits)
      : kernels_(kernels), weights_(weights), limits_(limits) {}

  Plan plan(const Program& program) {
    constexpr size_t kPageBytes = 4096;
    plan_.acts = lay_out(program.activations, limits_, kPageBytes);
    plan_.scratch.activation_bytes = plan_.acts.n_bytes;
    for (const Op& op : program.ops) std::visit([this](const auto& one) { add(one); }, op);
    if (!plan_.ops.empty()) plan_.ops.back().hints.barrier = false;  // the end of the step is a barrier
    plan_.scratch.n_ops = plan_.ops.size();
    plan_.scratch.n_units_lists = plan_.unit_rows.size();
    return std::move(plan_);
  }

 private:
  void add(const LinearOp& op) {
    const bool prepares = !shares_input(op);
    if (!prepares) plan_.ops.back().hints.barrier = false;
    plan_.ops.push_back({op, {.prepares = prepares}});
    will_prepare(op.weight, plan_.scratch.prepared_cols);
  }
  void add(const GatedLinearOp& op) {
    plan_.ops.push_back({op, {}});
    will_prepare(op.gate, plan_.scratch.prepared_cols);
    will_prepare(op.up, plan_.scratch.prepared_cols);
  }
  void add(const RopeStoreOp& op) { plan_.ops.push_back({op, hints_of({op.inv_freq, op.rope_scale, op.n_rot})}); }
  void add(const LatentStoreOp& op) { plan_.ops.push_back({op, hints_of({op.inv_freq, op.rope_scale, op.n_rot})}); }
  void add(const HeadLinearOp& op) {
    plan_.ops.push_back({op, {}});
    ScratchSizes& scratch = plan_.scratch;
    const uint32_t n_cols = weights_.matrix(op.weight).n_cols;
    scratch.n_head_slots = std::max(scratch.n_head_slots, op.n_heads);
    if (op.in_width != n_cols) scratch.head_cols = std::max(scratch.head_cols, n_cols);
    will_prepare(op.weight, scratch.prepared_head_cols);
  }
  void add(const AttentionOp& op) {
    const auto found = std::ranges::find(plan_.unit_rows, query_rows(op));
    const auto idx = static_cast<uint32_t>(found - plan_.unit_rows.begin());
    if (found == plan_.unit_rows.end()) plan_.unit_rows.push_back(query_rows(op));
    plan_.ops.push_back({op, {.units_idx = idx}});
    ScratchSizes& scratch = plan_.scratch;
    const size_t task_floats = attention_scratch(op) + 2 * sums_floats(op, max_queries(op));
    scratch.attention_floats = std::max(scratch.attention_floats, task_floats);
    if (limits_.max_context <= kSplitPositions) return;
    const size_t max_parts = size_t{limits_.max_seqs} * n_parts(limits_.max_context);
    scratch.part_floats = std::max(scratch.part_floats, max_parts * n_groups(op) * sums_floats(op, group_of(op)));
  }
  void add(const ExpertsOp& op) {
    plan_.ops.push_back({op, {}});
    will_prepare(op.gate, plan_.scratch.prepared_cols);
    will_prepare(op.up, plan_.scratch.prepared_cols);
    ScratchSizes& scratch = plan_.scratch;
    scratch.n_used = std::max(scratch.n_used, op.n_used);
    scratch.hidden_cols = std::max(scratch.hidden_cols, weights_.matrix(op.down).n_cols);
    will_prepare(op.down, scratch.prepared_hidden_cols);
    scratch.expert_cols = std::max(scratch.expert_cols, weights_.matrix(op.down).n_rows);
  }
  // An adapter's products do not depend on the base product of the same rows, and products that add to different
  // outputs do not depend on each other.
  void add(const AdapterDownOp& op) {
    plan_.has_adapters = true;
    if (!plan_.ops.empty()) {
      Hints& last = plan_.ops.back().hints;
      if (const auto* linear = std::get_if<LinearOp>(&plan_.ops.back().op)) {
        last.barrier = linear->out == op.in || linear->in != op.in;
      }
      if (const auto* down = std::get_if<AdapterDownOp>(&plan_.ops.back().op)) {
        last.barrier = down->low == op.low || down->low == op.in;
      }
    }
    plan_.ops.push_back({op, {}});
  }
  void add(const AdapterUpOp& op) {
    const auto* up = plan_.ops.empty() ? nullptr : std::get_if<AdapterUpOp>(&plan_.ops.back().op);
    if (up != nullptr) plan_.ops.back().hints.barrier = up->out == op.out || up->out == op.low;
    plan_.ops.push_back({op, {}});
  }
  void add(const JoinOp& op) {
    plan_.ops.push_back({op, {}});
    const size_t n_floats = size_t{limits_.max_rows} * plan_.acts[op.part].n_cols;
    plan_.scratch.join_floats = std::max(plan_.scratch.join_floats, n_floats);
  }
  void add(const ChooseOp&) {}  // left to the caller
  template <class Other>
  void add(const Other& op) {
    plan_.ops.push_back({op, {}});
  }

  // The angles of the step's positions stay valid until others replace them.
  Hints hints_of(const Rotation& rotation) {
    if (rotation.inv_freq == kNoWeight) return {};
    const Hints hints{.rotates = rotation != rotation_};
    rotation_ = rotation;
    plan_.scratch.rotation_cols = std::max(plan_.scratch.rotation_cols, rotation.n_rot);
    return hints;
  }

  void will_prepare(WeightId id, uint32_t& n_cols) const {
    const PackedMatrix& m = weights_.matrix(id);
    if (prefill_form(kernels_, m) != RowForm::kSource) n_cols = std::max(n_cols, m.n_cols);
  }

  // Consecutive products of the same rows (q, k and v) prepare them once and do not wait for each other, so each must
  // write to a different output.
  bool shares_input(const LinearOp& op) const {
    for (auto planned = plan_.ops.rbegin(); planned != plan_.ops.rend(); ++planned) {
      const auto* before = std::get_if<LinearOp>(&planned->op);
      if (before == nullptr || op.in != before->in || op.rows != before->rows || op.in == before->out ||
          op.out == before->out || form_of(op) != form_of(*before)) {
        return false;
      }
      if (planned->hints.prepares) return true;  // the first of the run
    }
    return false;
  }
  RowForm form_of(const LinearOp& op) const { return prefill_form(kernels_, weights_.matrix(op.weight)); }

  const KernelTable& kernels_;
  const WeightStore& weights_;
  const BackendLimits& limits_;
  Plan plan_;
  Rotation rotation_;  // of the last rope_store
};

}  // namespace

ScratchSizes larger(const ScratchSizes& a, const ScratchSizes& b) {
  return {.n_ops = std::max(a.n_ops, b.n_ops),
          .activation_bytes = std::max(a.activation_bytes, b.activation_bytes),
          .prepared_cols = std::max(a.prepared_cols, b.prepared_cols),
          .rotation_cols = std::max(a.rotation_cols, b.rotation_cols),
          .attention_floats = std::max(a.attention_floats, b.attention_floats),
          .part_floats = std::max(a.part_floats, b.part_floats),
          .n_units_lists = std::max(a.n_units_lists, b.n_units_lists),
          .n_used = std::max(a.n_used, b.n_used),
          .hidden_cols = std::max(a.hidden_cols, b.hidden_cols),
          .prepared_hidden_cols = std::max(a.prepared_hidden_cols, b.prepared_hidden_cols),
          .expert_cols = std::max(a.expert_cols, b.expert_cols),
          .n_head_slots = std::max(a.n_head_slots, b.n_head_slots),
          .head_cols = std::max(a.head_cols, b.head_cols),
          .prepared_head_cols = std::max(a.prepared_head_cols, b.prepared_head_cols),
          .join_floats = std::max(a.join_floats, b.join_floats)};
}

Status check_bounds(const Program& program) {
  const auto check = [](const char* name, const char* what, uint32_t value, uint32_t most) -> Status {
    if (value <= most) return {};
    return unsupported("the cpu backend runs models of at most " + std::to_string(most) + " " + what +
                           ", and this one has " + std::to_string(value),
                       name);
  };
  for (const Op& op : program.ops) {
    if (const auto* experts = std::get_if<ExpertsOp>(&op)) {
      RZ_CHECK_OK(check("n_experts_used", "experts per token", experts->n_used, kMaxUsedExperts));
    }
    if (const auto* route = std::get_if<RouteOp>(&op)) {
      RZ_CHECK_OK(check("n_experts", "experts", route->n_experts, kMaxExperts));
    }
  }
  return {};
}

Plan make_plan(const Program& program, const KernelTable& kernels, const WeightStore& weights,
               const BackendLimits& limits) {
  return Planner(kernels, weights, limits).plan(program);
}

}  // namespace realizar::cpu
