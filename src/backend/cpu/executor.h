// Executes a plan with the whole team, one operation after another, each by the runner that has a run() for it.
#pragma once

#include <span>

#include "backend/cpu/op_trace.h"
#include "backend/cpu/runners/adapter_runner.h"
#include "backend/cpu/runners/altup_runner.h"
#include "backend/cpu/runners/attention_runner.h"
#include "backend/cpu/runners/delta_runner.h"
#include "backend/cpu/runners/exchange_runner.h"
#include "backend/cpu/runners/expert_runner.h"
#include "backend/cpu/runners/head_linear_runner.h"
#include "backend/cpu/runners/input_watcher.h"
#include "backend/cpu/runners/linear_runner.h"
#include "backend/cpu/runners/rope_runner.h"
#include "backend/cpu/runners/route_runner.h"
#include "backend/cpu/runners/row_runner.h"
#include "backend/cpu/runners/state_runner.h"
#include "backend/cpu/runners/wkv_runner.h"
#include "backend/cpu/step_context.h"

namespace realizar::cpu {

class Executor {
 public:
  // All must outlive it. `exchange`: null if no ranks share programs.
  Executor(const KernelTable& kernels, ThreadTeam& team, const WeightStore& weights, const KvStore& cache,
           const StateStore& states, Exchange* exchange);

  void configure(const BackendLimits& limits) { step_.configure(limits); }
  // Allocates for the plan's steps, which then allocate nothing. Errors: ResourceExhausted.
  Status fit(const Plan& plan);
  // The plan must live until its results are read.
  void run(const Plan& plan, const StepBatch& batch);

  // Status of the exchanges of the last plan. Errors: those of Exchange.
  Status take_status() { return exchange_.take_status(); }
  bool is_lost() const { return exchange_.is_lost(); }
  // Results of the last plan.
  std::span<const float> read(ActId id) const;
  size_t scratch_bytes() const { return step_.scratch().n_bytes(); }
  void set_trace(bool on) { trace_on_ = on; }
  std::span<const OpTiming> trace() const { return trace_.timings(); }
  void watch_inputs(MatrixInputCallback callback) { inputs_.watch(std::move(callback)); }

 private:
  void execute(uint32_t member);

  StepContext step_;
  const KvStore& cache_;
  RowRunner rows_;
  AltUpRunner altup_;
  RopeRunner rope_;
  LinearRunner linear_;
  HeadLinearRunner head_linear_;
  AdapterRunner adapters_;
  AttentionRunner attention_;
  RouteRunner route_;
  ExpertRunner experts_;
  StateRunner states_;
  DeltaRunner delta_;
  WkvRunner wkv_;
  ExchangeRunner exchange_;
  InputWatcher inputs_;

  bool trace_on_ = false;
  OpTrace trace_;
};

}  // namespace realizar::cpu
