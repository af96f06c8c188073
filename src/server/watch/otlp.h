// Traces in OTLP/HTTP's JSON format: ExportTraceServiceRequest and its response by proto3's mapping, ids in
// hexadecimal, enums as numbers (OpenTelemetry protocol 1.x, docs/specification.md). The attributes follow
// OpenTelemetry's conventions for HTTP and generative AI, and vLLM's names otherwise. They contain no text of prompts
// or answers. Pure, except for the ids of children.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hub/url.h"
#include "realizar/result.h"
#include "server/watch/trace_context.h"

namespace realizar::server {

// One completed request. Times are in nanoseconds since 1970, and none is earlier than the previous one.
struct RequestTrace {
  ServerSpan span;
  std::string method, route, request_id;
  int status = 0;  // 499: its client disconnected
  uint64_t arrived_ns = 0, ended_ns = 0;

  // The generating part, if the request came that far.
  std::string model;
  std::string adapter;         // "": none
  std::string asked_model;     // as named in the request
  std::string_view operation;  // "chat", "text_completion", "embeddings"; "": none of these
  uint32_t n_prompt = 0, n_cached = 0, n_generated = 0;
  std::vector<std::string> finish_reasons;  // of each choice, up to a limit
  // 0: it did not get there. The queue begins at `queued_ns`, prefill with the first step, decode with the first token;
  // each ends where the next one begins, or at `done_ns`.
  uint64_t queued_ns = 0, first_step_ns = 0, first_token_ns = 0, done_ns = 0;
};

// The number of spans of the traces: the request's, and its children's.
size_t n_spans(const RequestTrace& trace);

struct OtlpResource {
  std::string service_version, instance_id, host_name;
};

std::string otlp_json(std::span<const RequestTrace> traces, const OtlpResource& resource);

// The address for sending traces to a collector: `text`, by default with the path /v1/traces. Errors: InvalidArgument,
// which names the flag.
Result<hub::Url> traces_url(std::string_view text);

// A collector's notice in the body of a successful reply. Empty if the body is something else.
struct PartialSuccess {
  uint64_t n_rejected = 0;
  std::string message;
};
PartialSuccess partial_success_of(std::string_view body);
// The message in a refusal's body; "": none.
std::string refusal_message(std::string_view body);

}  // namespace realizar::server
