// The trace that a request belongs to: the headers traceparent and tracestate of the W3C's recommendation "Trace
// Context" (level 1, 23 November 2021). Pure, except for random ids.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace realizar::server {

using TraceId = std::array<uint8_t, 16>;
using SpanId = std::array<uint8_t, 8>;

// A span as named in headers.
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

// Nullopt for an invalid one: an id of zeros, capitals, version ff, anything after version 00. Later versions may
// continue after a further "-".
std::optional<TraceContext> parse_traceparent(std::string_view text);
// Whether it is a list of at most 32 members and 512 bytes, each KEY=VALUE, without repeated keys.
bool is_tracestate(std::string_view text);
// In version 00.
std::string to_traceparent(const TraceContext& context);
// The span of a request with these headers: part of the caller's trace, sampled if that is; otherwise of a new trace,
// which is sampled. "": no header. A tracestate without a valid traceparent is ignored.
ServerSpan begin_span(std::string_view traceparent, std::string_view tracestate);

// From the kernel's random numbers, never zeros.
SpanId random_span_id();

}  // namespace realizar::server
