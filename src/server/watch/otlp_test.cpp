#include "server/watch/otlp.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/encodings.h"

namespace realizar::server {
namespace {

using Parsed = nlohmann::json;

constexpr const char* kTraceId = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr const char* kParentId = "00f067aa0ba902b7";
constexpr uint64_t kBegin = 1'700'000'000'123'456'789;  // more than a double holds

RequestTrace answered_trace() {
  RequestTrace trace;
  trace.span = begin_span(std::string("00-") + kTraceId + "-" + kParentId + "-01", "a=b");
  trace.method = "POST";
  trace.route = "/v1/chat/completions";
  trace.request_id = "req_1";
  trace.status = 200;
  trace.arrived_ns = kBegin;
  trace.ended_ns = kBegin + 900;
  trace.model = "m";
  trace.operation = "chat";
  trace.n_prompt = 10;
  trace.n_cached = 4;
  trace.n_generated = 5;
  trace.finish_reasons = {"stop", "length"};
  trace.queued_ns = kBegin + 100;
  trace.first_step_ns = kBegin + 200;
  trace.first_token_ns = kBegin + 500;
  trace.done_ns = kBegin + 800;
  return trace;
}

Parsed spans_of(std::span<const RequestTrace> traces) {
  const Parsed json = Parsed::parse(otlp_json(traces, {"1.2", "one", "host"}));
  return json.at("resourceSpans").at(0).at("scopeSpans").at(0).at("spans");
}

Parsed spans_of(const RequestTrace& trace) {
  return spans_of({&trace, 1});
}

std::map<std::string, Parsed> attributes_of(const Parsed& owner) {
  std::map<std::string, Parsed> attributes;
  for (const Parsed& one : owner.at("attributes")) {
    EXPECT_EQ(one.at("value").size(), 1u) << one;
    EXPECT_TRUE(attributes.emplace(one.at("key"), one.at("value")).second) << one;
  }
  return attributes;
}

std::string time_of(uint64_t after) {
  return std::to_string(kBegin + after);
}

TEST(Otlp, SaysWhoSends) {
  const Parsed json = Parsed::parse(otlp_json({}, {"1.2", "one", "host"}));
  ASSERT_EQ(json.at("resourceSpans").size(), 1u);
  const Parsed& all = json.at("resourceSpans").at(0);
  const auto attributes = attributes_of(all.at("resource"));
  EXPECT_EQ(attributes.at("service.name"), (Parsed{{"stringValue", "realizar"}}));
  EXPECT_EQ(attributes.at("service.version"), (Parsed{{"stringValue", "1.2"}}));
  EXPECT_EQ(attributes.at("service.instance.id"), (Parsed{{"stringValue", "one"}}));
  EXPECT_EQ(attributes.at("host.name"), (Parsed{{"stringValue", "host"}}));
  EXPECT_EQ(all.at("scopeSpans").at(0).at("scope"), (Parsed{{"name", "realizar"}, {"version", "1.2"}}));
}

TEST(Otlp, HasIdsInHexadecimalAndTimesAsTexts) {
  const RequestTrace trace = answered_trace();
  const Parsed span = spans_of(trace).at(0);
  EXPECT_EQ(span.at("traceId"), kTraceId);
  EXPECT_EQ(span.at("spanId"), hex_of(trace.span.context.span_id));
  EXPECT_EQ(span.at("parentSpanId"), kParentId);
  EXPECT_EQ(span.at("traceState"), "a=b");
  EXPECT_EQ(span.at("flags"), 0x301) << "sampled, and its parent is remote";
  EXPECT_EQ(span.at("name"), "POST /v1/chat/completions");
  EXPECT_EQ(span.at("kind"), 2);
  EXPECT_EQ(span.at("startTimeUnixNano"), time_of(0));
  EXPECT_EQ(span.at("endTimeUnixNano"), time_of(900));
  EXPECT_FALSE(span.contains("status"));
}

TEST(Otlp, HasTheConventionsAttributes) {
  const auto attributes = attributes_of(spans_of(answered_trace()).at(0));
  const auto text = [](const char* value) { return Parsed{{"stringValue", value}}; };
  EXPECT_EQ(attributes.at("http.request.method"), text("POST"));
  EXPECT_EQ(attributes.at("http.route"), text("/v1/chat/completions"));
  EXPECT_EQ(attributes.at("http.response.status_code"), (Parsed{{"intValue", "200"}}));
  EXPECT_EQ(attributes.at("gen_ai.operation.name"), text("chat"));
  EXPECT_EQ(attributes.at("gen_ai.request.model"), text("m"));
  EXPECT_EQ(attributes.at("gen_ai.response.model"), text("m"));
  EXPECT_EQ(attributes.at("gen_ai.request.id"), text("req_1"));
  EXPECT_EQ(attributes.at("gen_ai.usage.input_tokens"), (Parsed{{"intValue", "10"}}));
  EXPECT_EQ(attributes.at("gen_ai.usage.cache_read.input_tokens"), (Parsed{{"intValue", "4"}}));
  EXPECT_EQ(attributes.at("gen_ai.usage.output_tokens"), (Parsed{{"intValue", "5"}}));
  const Parsed reasons = Parsed::array({text("stop"), text("length")});
  EXPECT_EQ(attributes.at("gen_ai.response.finish_reasons"), (Parsed{{"arrayValue", {{"values", reasons}}}}));
  EXPECT_DOUBLE_EQ(attributes.at("gen_ai.latency.e2e").at("doubleValue"), 900e-9);
  EXPECT_DOUBLE_EQ(attributes.at("gen_ai.latency.time_in_queue").at("doubleValue"), 100e-9);
  EXPECT_DOUBLE_EQ(attributes.at("gen_ai.latency.time_to_first_token").at("doubleValue"), 400e-9);
}

TEST(Otlp, TellsWhatModelWasAskedForAndWhichAnswered) {
  RequestTrace trace = answered_trace();
  trace.asked_model = "alias";
  trace.adapter = "lora";
  const auto attributes = attributes_of(spans_of(trace).at(0));
  EXPECT_EQ(attributes.at("gen_ai.request.model").at("stringValue"), "alias");
  EXPECT_EQ(attributes.at("gen_ai.response.model").at("stringValue"), "m:lora");
}

TEST(Otlp, HasTheQueueThePrefillAndTheDecodeAsChildren) {
  const RequestTrace trace = answered_trace();
  const Parsed spans = spans_of(trace);
  ASSERT_EQ(spans.size(), 4u);
  EXPECT_EQ(n_spans(trace), 4u);
  const std::tuple<const char*, uint64_t, uint64_t> phases[] = {
      {"queue", 100, 200}, {"prefill", 200, 500}, {"decode", 500, 800}};
  for (size_t i = 0; i < 3; ++i) {
    const Parsed& child = spans.at(i + 1);
    const auto& [name, begin, end] = phases[i];
    EXPECT_EQ(child.at("name"), name);
    EXPECT_EQ(child.at("kind"), 1);
    EXPECT_EQ(child.at("flags"), 0x101);
    EXPECT_EQ(child.at("traceId"), kTraceId);
    EXPECT_EQ(child.at("parentSpanId"), spans.at(0).at("spanId"));
    EXPECT_NE(child.at("spanId"), spans.at(0).at("spanId"));
    EXPECT_EQ(child.at("startTimeUnixNano"), time_of(begin));
    EXPECT_EQ(child.at("endTimeUnixNano"), time_of(end));
  }
  EXPECT_EQ(attributes_of(spans.at(3)).at("gen_ai.usage.output_tokens"), (Parsed{{"intValue", "5"}}));
}

std::string span_names(const RequestTrace& trace) {
  std::string names;
  for (const Parsed& span : spans_of(trace)) names += span.at("name").get<std::string>() + "|";
  return names;
}

TEST(Otlp, HasOnlyThePartsThatARequestCameTo) {
  RequestTrace trace = answered_trace();
  trace.route = "r";
  trace.first_token_ns = 0;
  EXPECT_EQ(span_names(trace), "POST r|queue|prefill|") << "a vector, or a request that ended in its prefill";
  trace.first_step_ns = 0;
  EXPECT_EQ(span_names(trace), "POST r|queue|");
  trace.queued_ns = 0;
  EXPECT_EQ(span_names(trace), "POST r|");
  trace = answered_trace();
  trace.route = "r";
  trace.first_step_ns = 0;
  EXPECT_EQ(span_names(trace), "POST r|decode|") << "nobody knows where its queue ended";
}

TEST(Otlp, AFailureIsTheServersAlone) {
  const auto told = [](int status, std::vector<std::string> reasons) {
    RequestTrace trace = answered_trace();
    trace.status = status;
    trace.finish_reasons = std::move(reasons);
    const Parsed span = spans_of(trace).at(0);
    const auto attributes = attributes_of(span);
    const auto type = attributes.find("error.type");
    return std::pair(span.contains("status"),
                     type == attributes.end() ? "" : type->second.at("stringValue").get<std::string>());
  };
  EXPECT_EQ(told(400, {}), std::pair(false, std::string()));
  EXPECT_EQ(told(499, {}), std::pair(false, std::string("client_closed_request")));
  EXPECT_EQ(told(503, {}), std::pair(true, std::string("503")));
  EXPECT_EQ(told(200, {"stop", "error"}), std::pair(true, std::string("error"))) << "a stream that broke off";
}

TEST(Otlp, HasWhatIsNoUtf8AsReplacements) {
  RequestTrace trace = answered_trace();
  trace.asked_model = "\xff";
  EXPECT_EQ(attributes_of(spans_of(trace).at(0)).at("gen_ai.request.model").at("stringValue"), "\xef\xbf\xbd");
}

TEST(OtlpEndpoint, HasAPathUnlessItNamesOne) {
  EXPECT_EQ(traces_url("http://host:4318")->text(), "http://host:4318/v1/traces");
  EXPECT_EQ(traces_url("https://host/")->text(), "https://host/v1/traces");
  EXPECT_EQ(traces_url("http://host/otlp/v1/traces?a=b")->text(), "http://host/otlp/v1/traces?a=b");
  for (const char* text : {"", "host:4318", "grpc://host:4317", "http://", "http://user:password@host"}) {
    const auto url = traces_url(text);
    ASSERT_FALSE(url.ok()) << text;
    EXPECT_NE(url.error().message.find("--otlp-endpoint: "), std::string::npos) << url.error().message;
    EXPECT_NE(url.error().message.find("http://localhost:4318"), std::string::npos) << url.error().message;
  }
}

TEST(OtlpReply, SaysHowManySpansAreRejected) {
  EXPECT_EQ(partial_success_of("{}").n_rejected, 0u);
  const auto said = partial_success_of(R"({"partialSuccess":{"rejectedSpans":"3","errorMessage":"too\nold"}})");
  EXPECT_EQ(said.n_rejected, 3u);
  EXPECT_EQ(said.message, "too\\nold");
  EXPECT_EQ(partial_success_of(R"({"partialSuccess":{"rejectedSpans":3}})").n_rejected, 3u);
  for (const char* body :
       {"", "rubbish", "[]", "null", R"({"partialSuccess":[]})", R"({"partialSuccess":{"rejectedSpans":-3}})",
        R"({"partialSuccess":{"rejectedSpans":"x"}})"}) {
    EXPECT_EQ(partial_success_of(body).n_rejected, 0u) << body;
  }
}

TEST(OtlpReply, SaysWhySpansAreRefused) {
  EXPECT_EQ(refusal_message(R"({"code":3,"message":"bad data"})"), "bad data");
  EXPECT_EQ(refusal_message("<html>"), "");
  EXPECT_LT(refusal_message("{\"message\":\"" + std::string(10'000, 'x') + "\"}").size(), 300u);
}

}  // namespace
}  // namespace realizar::server
