// Traces as OTLP/HTTP has them in JSON: ExportTraceServiceRequest and its response by proto3's mapping, ids in
// hexadecimal, enums as numbers (OpenTelemetry protocol 1.x, docs/specification.md). The attributes are those of
// OpenTelemetry's conventions for HTTP and generative AI; vLLM's names where there are none. No text of prompts or
// answers is in them. Pure, but for the ids of children.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hub/url.h"
#include "realizar/result.h"
#include "server/watch/trace_context.h"

namespace realizar::server {

// One request that is over. Times are in nanoseconds since 1970, and none is before the one above it.
struct RequestTrace {
  ServerSpan span;
  std::string method, route, request_id;
  int status = 0;  // 499: its client left
  uint64_t arrived_ns = 0, ended_ns = 0;

  // The generated part, where the request came so far.
  std::string model;
  std::string adapter;         // "": none
  std::string asked_model;     // as the request names it
  std::string_view operation;  // "chat", "text_completion", "embeddings"; "": none of these
  uint32_t n_prompt = 0, n_cached = 0, n_generated = 0;
  std::vector<std::string> finish_reasons;  // of each choice, up to a bound
  // 0: it did not come to that. The queue begins with `queued_ns`, prefill with the first step, decode with the first
  // token; each ends where the next one begins, or with `done_ns`.
  uint64_t queued_ns = 0, first_step_ns = 0, first_token_ns = 0, done_ns = 0;
};

// Spans that the traces become: the request's, and its children's.
size_t n_spans(const RequestTrace& trace);

struct OtlpResource {
  std::string service_version, instance_id, host_name;
};

std::string otlp_json(std::span<const RequestTrace> traces, const OtlpResource& resource);

// Where a collector takes traces: `text`, with the path /v1/traces where it names none. Errors: InvalidArgument, which
// names the flag.
Result<hub::Url> traces_url(std::string_view text);

// A collector's word in the body of a good reply. Whatever is no such reply says nothing.
struct PartialSuccess {
  uint64_t n_rejected = 0;
  std::string message;
};
PartialSuccess partial_success_of(std::string_view body);
// The message of a refusal's body; "": it has none.
std::string refusal_message(std::string_view body);

}  // namespace realizar::server
