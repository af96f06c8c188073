#include "api/trace_log.h"

namespace realizar {

void TraceLog::add(uint32_t n_tokens, std::span<const OpTiming> timings) {
  table_.add(n_tokens, timings);
  steps_.push_back({n_tokens, {timings.begin(), timings.end()}});
}

void TraceLog::clear() {
  table_ = {};
  steps_.clear();
}

std::vector<TraceEvent> TraceLog::events() const {
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
