// Any text as a traceparent, and after a line's end as a tracestate: a span of a new trace, or of the caller's, whose
// header is read back unchanged.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "server/watch/trace_context.h"

using namespace realizar::server;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view parent = text.substr(0, text.find('\n'));
  const std::string_view state = text.substr(parent.size()).substr(parent.size() < size ? 1 : 0);
  const ServerSpan span = begin_span(parent, state);
  const auto caller = parse_traceparent(parent);
  const auto again = parse_traceparent(to_traceparent(span.context));
  const bool is_same = again && again->trace_id == span.context.trace_id && again->span_id == span.context.span_id &&
                       again->is_sampled == span.context.is_sampled;
  if (!is_same || span.has_parent() != caller.has_value() || span.context.span_id == span.parent) std::abort();
  if (caller && (caller->trace_id != span.context.trace_id || caller->is_sampled != span.context.is_sampled)) {
    std::abort();
  }
  if (!span.state.empty() && (!caller || span.state != state || !is_tracestate(state))) std::abort();
  return 0;
}
