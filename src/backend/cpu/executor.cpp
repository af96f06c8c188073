#include "backend/cpu/executor.h"

#include "backend/dispatch.h"

namespace realizar::cpu {

Executor::Executor(const KernelTable& kernels, ThreadTeam& team, const WeightStore& weights, const KvStore& cache,
                   const StateStore& states, Exchange* exchange)
    : step_(kernels, team, weights),
      cache_(cache),
      rows_(step_),
      altup_(step_),
      rope_(step_, cache),
      linear_(step_),
      head_linear_(step_),
      adapters_(step_),
      attention_(step_, cache),
      route_(step_),
      experts_(step_),
      states_(step_, states),
      delta_(step_, states),
      wkv_(step_, states),
      exchange_(step_, exchange),
      inputs_(step_, experts_) {}

Status Executor::fit(const Plan& plan) {
  attention_.reserve(plan);
  experts_.reserve(plan);
  head_linear_.reserve(plan);
  adapters_.reserve(plan);
  trace_.reserve(plan.ops.size());
  return step_.fit(plan, exchange_.join_floats(plan));
}

void Executor::run(const Plan& plan, const StepBatch& batch) {
  step_.begin(plan, batch);
  attention_.begin_step();
  adapters_.begin_step();
  trace_.clear();
  step_.run_team([this](uint32_t member) { execute(member); });
  if (trace_on_) trace_.finish(plan, batch, step_.weights(), cache_.type());
}

// The input watcher is called after all members have finished an operation, before the next one changes its inputs. A
// traced operation lasts from the barrier before it to the one after it: it includes the team's waiting time, and the
// first one does not include the team's wake-up.
void Executor::execute(uint32_t member) {
  const KernelTable& kernels = step_.kernels();
  if (kernels.configure_tiles != nullptr) kernels.configure_tiles(kBf16TileRowBytes);
  if (trace_on_) step_.barrier(member);
  if (trace_on_ && member == 0) trace_.start();
  const auto runners = std::tie(rows_, altup_, rope_, linear_, head_linear_, adapters_, attention_, route_, experts_,
                                states_, delta_, wkv_, exchange_);
  const std::vector<PlannedOp>& ops = step_.plan().ops;
  for (uint32_t i = 0; i < ops.size(); ++i) {
    const PlannedOp& planned = ops[i];
    step_.begin_op(i, member);
    std::visit([&](const auto& op) { run_by_one_of(runners, op, planned.hints, member); }, planned.op);
    if (planned.hints.barrier || trace_on_ || inputs_.is_on()) step_.barrier(member);
    if (trace_on_ && member == 0) trace_.end(i, experts_.groups().size());
    if (!inputs_.is_on()) continue;
    if (member == 0) std::visit([&](const auto& op) { inputs_.show(op); }, planned.op);
    step_.barrier(member);
  }
}

std::span<const float> Executor::read(ActId id) const {
  const Rows rows = step_.plan().acts[id].rows;
  return {step_.act(id), size_t{step_.row_list(rows).n_rows} * step_.n_cols(id)};
}

}  // namespace realizar::cpu
