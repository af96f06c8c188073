#include "api/trace_log.h"

namespace realizar {

void TraceLog::add(const engine::StepTokens& tokens, std::span<const OpTiming> timings) {
  const std::lock_guard lock(mutex_);
  table_.add(tokens, timings);
  steps_.push_back({tokens.n_computed, {timings.begin(), timings.end()}});
}

Trace TraceLog::trace() const {
  const std::lock_guard lock(mutex_);
  return table_.trace();
}

void TraceLog::clear() {
  const std::lock_guard lock(mutex_);
  table_ = {};
  steps_.clear();
}

std::vector<TraceEvent> TraceLog::events() const {
  const std::lock_guard lock(mutex_);
  std::vector<TraceEvent> events;
  for (size_t step = 0; step < steps_.size(); ++step) {
    for (const OpTiming& timing : steps_[step].timings) {
      events.push_back({name_of(timing.kind, timing.place.role),
                        static_cast<double>(timing.start_ns - start_ns_) * 1e-3,
                        static_cast<double>(timing.duration_ns) * 1e-3, timing.place.layer, timing.decode, step,
                        steps_[step].n_tokens});
    }
  }
  return events;
}

}  // namespace realizar
