#include "engine/op_table.h"

#include <algorithm>

#include "backend/backend.h"
#include "backend/ops.h"

namespace realizar::engine {
namespace {

double ms_of(uint64_t ns) {
  return static_cast<double>(ns) * 1e-6;
}

}  // namespace

OpTable::OpTable() {
  for (Phase* phase : {&prefill_, &decode_}) phase->sums.resize(kOpKinds * kOpRoles);
}

void OpTable::add(const StepTokens& tokens, std::span<const OpTiming> timings) {
  if (timings.empty()) return;
  Phase& phase = timings.front().decode ? decode_ : prefill_;
  ++phase.n_steps;
  phase.n_came += tokens.n_came;
  phase.n_computed += tokens.n_computed;
  for (const OpTiming& timing : timings) {
    Sum& sum = phase.sums[static_cast<size_t>(timing.kind) * kOpRoles + static_cast<size_t>(timing.place.role)];
    ++sum.count;
    sum.ns += timing.duration_ns;
    sum.bytes += timing.bytes;
    sum.flops += timing.flops;
  }
}

Trace OpTable::trace() const {
  Trace trace{{}, total_of(prefill_), total_of(decode_)};
  append_rows(prefill_, false, trace.rows);
  append_rows(decode_, true, trace.rows);
  return trace;
}

TracePhase OpTable::total_of(const Phase& phase) {
  uint64_t ns = 0;
  for (const Sum& sum : phase.sums) ns += sum.ns;
  return {phase.n_steps, phase.n_came, ms_of(ns), phase.n_computed};
}

void OpTable::append_rows(const Phase& phase, bool decode, std::vector<TraceRow>& rows) {
  const size_t n_before = rows.size();
  for (size_t kind = 0; kind < kOpKinds; ++kind) {
    for (size_t role = 0; role < kOpRoles; ++role) {
      const Sum& sum = phase.sums[kind * kOpRoles + role];
      if (sum.count == 0) continue;
      rows.push_back({name_of(static_cast<OpKind>(kind), static_cast<OpRole>(role)), decode, sum.count, ms_of(sum.ns),
                      static_cast<double>(sum.bytes), static_cast<double>(sum.flops)});
    }
  }
  std::stable_sort(rows.begin() + static_cast<std::ptrdiff_t>(n_before), rows.end(),
                   [](const TraceRow& a, const TraceRow& b) { return a.total_ms > b.total_ms; });
}

}  // namespace realizar::engine
