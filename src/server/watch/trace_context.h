// Which trace a request belongs to: the headers traceparent and tracestate, as the W3C's recommendation "Trace Context"
// (level 1, 23 November 2021) has them. Pure, but for random ids.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace realizar::server {

using TraceId = std::array<uint8_t, 16>;
using SpanId = std::array<uint8_t, 8>;

// A span as headers name it.
struct TraceContext {
  TraceId trace_id{};
  SpanId span_id{};
  bool is_sampled = false;
};

// The span of a request.
struct ServerSpan {
  TraceContext context;
  SpanId parent{};    // in the caller; zeros: the trace begins here
  std::string state;  // the caller's tracestate; "": none

  bool has_parent() const { return parent != SpanId{}; }
};

// Nullopt for what is none: an id of zeros, capitals, version ff, anything after version 00. Later versions may go on
// after a further "-".
std::optional<TraceContext> parse_traceparent(std::string_view text);
// A list of at most 32 members and 512 bytes, each KEY=VALUE and no key twice.
bool is_tracestate(std::string_view text);
// In version 00.
std::string to_traceparent(const TraceContext& context);
// The span of a request with these headers: of the caller's trace, sampled where that is, or else of a new one, which
// is. "": no header. A tracestate without a good traceparent is not looked at.
ServerSpan begin_span(std::string_view traceparent, std::string_view tracestate);

// Made of the kernel's random numbers, never zeros.
SpanId random_span_id();

}  // namespace realizar::server
