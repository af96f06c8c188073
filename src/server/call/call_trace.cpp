#include "server/call/call_trace.h"

#include <algorithm>
#include <chrono>
#include <string_view>

#include "server/call/call.h"

namespace realizar::server {
namespace {

// The operation of a route in the semantic conventions for generative AI; "": none.
std::string_view operation_of(std::string_view path) {
  const auto has = [path](std::string_view part) { return path.find(part) != std::string_view::npos; };
  if (path.ends_with("tokens") || path.ends_with("/cancel")) return "";
  if (has("/chat") || has("/messages") || has("/responses")) return "chat";
  if (has("/embed")) return "embeddings";
  return has("/completion") || has("/generate") || has("/infill") ? "text_completion" : "";
}

uint64_t count_ns(std::chrono::nanoseconds time) {
  return static_cast<uint64_t>(time.count());
}

}  // namespace

RequestTrace trace_of(const Call& call, int status) {
  const CallRecord& record = call.record;
  RequestTrace trace;
  trace.span = *call.span;
  trace.method = call.route->method;
  trace.route = call.route->path;
  trace.request_id = call.id;
  trace.status = status;
  // Converts times of the steady clock to wall clock times. A pause between the two readings makes no time too early.
  const Clock::time_point now = Clock::now();
  const uint64_t wall_ns = count_ns(std::chrono::system_clock::now().time_since_epoch());
  const auto at = [&](Clock::time_point time) { return wall_ns - count_ns(now - time); };
  trace.arrived_ns = at(call.arrival);
  trace.ended_ns = wall_ns;
  trace.operation = operation_of(trace.route);
  trace.asked_model = record.asked_model;
  trace.model = record.model;
  trace.adapter = call.adapter;
  trace.n_prompt = record.n_prompt;
  trace.n_cached = record.n_cached;
  trace.n_generated = std::max(record.n_generated, record.n_told);
  trace.finish_reasons = record.finish_reasons;
  if (record.submitted == Clock::time_point{}) return trace;
  trace.queued_ns = at(record.submitted);
  const auto after = [&](double ms) {
    return std::min(trace.ended_ns, trace.queued_ns + static_cast<uint64_t>(ms * 1e6));
  };
  if (record.until_step_ms > 0) trace.first_step_ns = after(record.until_step_ms);
  if (record.until_token_ms > 0) trace.first_token_ns = after(record.until_token_ms);
  trace.done_ns = record.until_end_ms > 0 ? after(record.until_end_ms) : trace.ended_ns;
  return trace;
}

}  // namespace realizar::server
