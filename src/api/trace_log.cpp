#include "api/trace_log.h"

#include <map>
#include <utility>

namespace realizar {

void TraceLog::add(std::span<const OpTiming> timings) {
  timings_.insert(timings_.end(), timings.begin(), timings.end());
}

void TraceLog::clear() {
  timings_.clear();
}

std::vector<TraceRow> TraceLog::table() const {
  std::map<std::pair<bool, OpKind>, TraceRow> rows;
  for (const OpTiming& timing : timings_) {
    TraceRow& row = rows[{timing.decode, timing.kind}];
    row.op = to_string(timing.kind);
    row.decode = timing.decode;
    ++row.count;
    row.total_ms += static_cast<double>(timing.duration_ns) * 1e-6;
    row.bytes += static_cast<double>(timing.bytes);
    row.flops += static_cast<double>(timing.flops);
  }
  std::vector<TraceRow> table;
  for (auto& [key, row] : rows) table.push_back(std::move(row));
  return table;
}

std::vector<TraceEvent> TraceLog::events() const {
  std::vector<TraceEvent> events;
  events.reserve(timings_.size());
  for (const OpTiming& timing : timings_) {
    events.push_back({to_string(timing.kind), static_cast<double>(timing.start_ns - start_ns_) * 1e-3,
                      static_cast<double>(timing.duration_ns) * 1e-3});
  }
  return events;
}

}  // namespace realizar
