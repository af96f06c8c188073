#include "server/watch/otlp.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/encodings.h"
#include "base/printable.h"
#include "server/http/json.h"

namespace realizar::server {
namespace {

constexpr int kInternal = 1, kServer = 2;  // SpanKind
constexpr int kStatusError = 2;
constexpr int kClientLeft = 499;
constexpr uint32_t kSampledFlag = 1, kHasIsRemote = 0x100, kIsRemote = 0x200;  // SpanFlags
constexpr size_t kMaxMessageBytes = 200;

// 64-bit numbers are strings in proto3's JSON.
std::string decimal_text(uint64_t value) {
  return std::to_string(value);
}

class Attributes {
 public:
  void add(const char* key, std::string_view text) { put(key, {{"stringValue", std::string(text)}}); }
  void add(const char* key, uint64_t value) { put(key, {{"intValue", decimal_text(value)}}); }
  void add_seconds(const char* key, uint64_t from_ns, uint64_t to_ns) {
    put(key, {{"doubleValue", static_cast<double>(to_ns - from_ns) / 1e9}});
  }
  void add(const char* key, const std::vector<std::string>& texts) {
    Json values = Json::array();
    for (const std::string& text : texts) values.push_back({{"stringValue", text}});
    put(key, {{"arrayValue", {{"values", std::move(values)}}}});
  }
  Json take() { return std::move(list_); }

 private:
  void put(const char* key, Json value) { list_.push_back(Json{{"key", key}, {"value", std::move(value)}}); }

  Json list_ = Json::array();
};

Json span_json(const ServerSpan& trace, const SpanId& id, const SpanId& parent, bool is_child) {
  Json span{{"traceId", hex_of(trace.context.trace_id)}, {"spanId", hex_of(id)}};
  if (!trace.state.empty()) span["traceState"] = trace.state;
  if (parent != SpanId{}) span["parentSpanId"] = hex_of(parent);
  span["flags"] = kSampledFlag | kHasIsRemote | (is_child || parent == SpanId{} ? 0 : kIsRemote);
  return span;
}

void add_times(Json& span, uint64_t from_ns, uint64_t to_ns) {
  span["startTimeUnixNano"] = decimal_text(from_ns);
  span["endTimeUnixNano"] = decimal_text(to_ns);
}

// Empty if the request succeeded, or requested something unsupported.
std::string failure_of(const RequestTrace& trace) {
  const auto is_error = [](const std::string& reason) { return reason == "error" || reason == "timeout"; };
  if (trace.status >= 500) return decimal_text(static_cast<uint64_t>(trace.status));
  const auto reason = std::ranges::find_if(trace.finish_reasons, is_error);
  return reason == trace.finish_reasons.end() ? std::string() : *reason;
}

// The times in vLLM's traces, in seconds.
void add_latencies(const RequestTrace& trace, Attributes& attributes) {
  if (trace.queued_ns == 0) return;
  attributes.add_seconds("gen_ai.latency.e2e", trace.arrived_ns, trace.ended_ns);
  if (trace.first_step_ns > 0) {
    attributes.add_seconds("gen_ai.latency.time_in_queue", trace.queued_ns, trace.first_step_ns);
  }
  if (trace.first_token_ns == 0) return;
  attributes.add_seconds("gen_ai.latency.time_to_first_token", trace.queued_ns, trace.first_token_ns);
  if (trace.first_step_ns > 0) {
    attributes.add_seconds("gen_ai.latency.time_in_model_prefill", trace.first_step_ns, trace.first_token_ns);
  }
  attributes.add_seconds("gen_ai.latency.time_in_model_decode", trace.first_token_ns, trace.done_ns);
}

void add_model(const RequestTrace& trace, Attributes& attributes) {
  if (!trace.operation.empty()) attributes.add("gen_ai.operation.name", trace.operation);
  attributes.add("gen_ai.provider.name", "realizar");
  if (!trace.asked_model.empty()) attributes.add("gen_ai.request.model", trace.asked_model);
  if (trace.model.empty()) return;
  if (trace.asked_model.empty()) attributes.add("gen_ai.request.model", trace.model);
  attributes.add("gen_ai.response.model", trace.adapter.empty() ? trace.model : trace.model + ":" + trace.adapter);
  attributes.add("gen_ai.usage.input_tokens", trace.n_prompt);
  attributes.add("gen_ai.usage.cache_read.input_tokens", trace.n_cached);
  attributes.add("gen_ai.usage.output_tokens", trace.n_generated);
  if (!trace.finish_reasons.empty()) attributes.add("gen_ai.response.finish_reasons", trace.finish_reasons);
  add_latencies(trace, attributes);
}

Json request_span(const RequestTrace& trace) {
  Json span = span_json(trace.span, trace.span.context.span_id, trace.span.parent, false);
  span["name"] = trace.method + " " + trace.route;
  span["kind"] = kServer;
  add_times(span, trace.arrived_ns, trace.ended_ns);
  Attributes attributes;
  attributes.add("http.request.method", trace.method);
  attributes.add("http.route", trace.route);
  attributes.add("http.response.status_code", static_cast<uint64_t>(trace.status));
  attributes.add("gen_ai.request.id", trace.request_id);
  add_model(trace, attributes);
  const std::string failure = failure_of(trace);
  if (!failure.empty()) {
    attributes.add("error.type", failure);
    span["status"] = {{"code", kStatusError}};
  } else if (trace.status == kClientLeft) {
    attributes.add("error.type", "client_closed_request");
  }
  span["attributes"] = attributes.take();
  return span;
}

struct Phase {
  const char* name;
  uint64_t from_ns, to_ns;
  bool is_known() const { return from_ns > 0 && to_ns >= from_ns; }
};

std::vector<Phase> phases_of(const RequestTrace& trace) {
  std::vector<Phase> phases;
  const auto end_of = [&](uint64_t ns) { return ns > 0 ? ns : trace.done_ns; };
  // A completed prefill has reported when the queue ended; otherwise that is unknown.
  const bool knows_queue = trace.first_step_ns > 0 || trace.first_token_ns == 0;
  const Phase all[] = {{"queue", knows_queue ? trace.queued_ns : 0, end_of(trace.first_step_ns)},
                       {"prefill", trace.first_step_ns, end_of(trace.first_token_ns)},
                       {"decode", trace.first_token_ns, trace.done_ns}};
  std::ranges::copy_if(all, std::back_inserter(phases), &Phase::is_known);
  return phases;
}

Json phase_span(const RequestTrace& trace, const Phase& phase) {
  Json span = span_json(trace.span, random_span_id(), trace.span.context.span_id, true);
  span["name"] = phase.name;
  span["kind"] = kInternal;
  add_times(span, phase.from_ns, phase.to_ns);
  Attributes attributes;
  const std::string_view name = phase.name;
  if (name == "prefill") {
    attributes.add("gen_ai.usage.input_tokens", trace.n_prompt);
    attributes.add("gen_ai.usage.cache_read.input_tokens", trace.n_cached);
  }
  if (name == "decode") attributes.add("gen_ai.usage.output_tokens", trace.n_generated);
  span["attributes"] = attributes.take();
  return span;
}

// A member of an object, or null.
const Json& member(const Json& json, const char* name) {
  static const Json kNone;
  if (!json.is_object()) return kNone;
  const auto found = json.find(name);
  return found == json.end() ? kNone : *found;
}

std::string text_of(const Json& json) {
  return json.is_string() ? shown(json.get_ref<const std::string&>(), kMaxMessageBytes) : std::string();
}

}  // namespace

size_t n_spans(const RequestTrace& trace) {
  return 1 + phases_of(trace).size();
}

std::string otlp_json(std::span<const RequestTrace> traces, const OtlpResource& resource) {
  Json spans = Json::array();
  for (const RequestTrace& trace : traces) {
    spans.push_back(request_span(trace));
    for (const Phase& phase : phases_of(trace)) spans.push_back(phase_span(trace, phase));
  }
  Attributes attributes;
  attributes.add("service.name", "realizar");
  attributes.add("service.version", resource.service_version);
  attributes.add("service.instance.id", resource.instance_id);
  if (!resource.host_name.empty()) attributes.add("host.name", resource.host_name);
  const Json scope{{"name", "realizar"}, {"version", resource.service_version}};
  Json scope_spans = Json::array({Json{{"scope", scope}, {"spans", std::move(spans)}}});
  Json resource_spans =
      Json::array({Json{{"resource", {{"attributes", attributes.take()}}}, {"scopeSpans", std::move(scope_spans)}}});
  return dump(Json{{"resourceSpans", std::move(resource_spans)}});
}

Result<hub::Url> traces_url(std::string_view text) {
  auto url = hub::parse_url(text);
  if (!url.ok()) {
    return invalid_argument(
        fmt::format(
            "--otlp-endpoint: {}; expected a collector that accepts OTLP over HTTP, such as http://localhost:4318",
            url.error().message),
        "otlp_endpoint");
  }
  if (url->rest == "/") url->rest = "/v1/traces";
  return url;
}

PartialSuccess partial_success_of(std::string_view body) {
  const auto json = parse_json(body);
  PartialSuccess said;
  if (!json.ok()) return said;
  const Json& partial = member(*json, "partialSuccess");
  const Json& rejected = member(partial, "rejectedSpans");
  if (rejected.is_number_unsigned()) said.n_rejected = rejected.get<uint64_t>();
  if (rejected.is_string()) {
    const auto& digits = rejected.get_ref<const std::string&>();
    static_cast<void>(std::from_chars(digits.data(), digits.data() + digits.size(), said.n_rejected));
  }
  said.message = text_of(member(partial, "errorMessage"));
  return said;
}

std::string refusal_message(std::string_view body) {
  const auto json = parse_json(body);
  return json.ok() ? text_of(member(*json, "message")) : std::string();
}

}  // namespace realizar::server
