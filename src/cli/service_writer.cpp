#include "cli/service_writer.h"

#include <utility>

#include "base/try.h"
#include "sampling/parameters.h"
#include "sampling/sampler_names.h"
#include "server/call/request_fields.h"

namespace realizar::cli {
namespace {

using Json = nlohmann::ordered_json;

ModelInfo info_of(const Json& model) {
  ModelInfo info{};
  info.path = model.value("path", "");
  info.name = model.value("name", "");
  info.backend = model.value("backend", "") + ", in the running server";
  info.n_ctx = model.value("n_ctx", 0u);
  info.n_vocab = model.value("n_vocab", 0u);
  info.weight_bytes = model.value("weight_bytes", uint64_t{0});
  info.kv_bytes = model.value("kv_bytes", uint64_t{0});
  info.scratch_bytes = model.value("scratch_bytes", uint64_t{0});
  info.has_chat_template = model.value("has_chat_template", false);
  info.gives_text = model.value("gives_text", true);
  return info;
}

SamplingParams sampling_of(const Json& values) {
  SamplingParams params;
  for (const SamplingParameter& parameter : kSamplingParameters) {
    const auto value = values.find(std::string(parameter.name));
    if (value == values.end() || !value->is_number()) continue;
    visit_parameter(parameter, params, [&](auto& member) { value->get_to(member); });
  }
  return params;
}

void put_sampling(const SamplingParams& params, Json& body) {
  body.update(server::sampling_json(params));
  if (params.samplers) body["samplers"] = names_of(*params.samplers);
  for (const auto& [token, bias] : params.logit_bias) body["logit_bias"].push_back({to_index(token), bias});
}

void put_reasoning(const ReasoningOptions& reasoning, Json& body) {
  if (reasoning.enabled) body["enable_thinking"] = *reasoning.enabled;
  if (reasoning.effort) body["reasoning_effort"] = *reasoning.effort;
  if (reasoning.budget) body["reasoning_budget"] = *reasoning.budget;
}

void put_form(const AnswerForm& form, Json& body) {
  if (form.kind == AnswerForm::Kind::kGrammar) {
    body["grammar"] = form.source;
    return;
  }
  // A schema that no grammar can enforce is an error, as without a server.
  const Json named{{"name", "answer"}, {"strict", true}, {"schema", Json::parse(form.source)}};
  body["response_format"] = {{"type", "json_schema"}, {"json_schema", named}};
}

void put_tools(const AnswerOptions& options, Json& body) {
  if (options.tools_json.empty()) return;
  body["tools"] = Json::parse(options.tools_json);
  if (options.required_tools_json.empty()) return;
  body["parallel_tool_calls"] = false;
  const Json required = Json::parse(options.required_tools_json);
  body["tool_choice"] = "required";
  if (required.size() < body["tools"].size()) {
    body["tool_choice"] = {{"type", "allowed_tools"}, {"allowed_tools", {{"mode", "required"}, {"tools", required}}}};
  }
}

FinishReason finish_reason_of(const std::string& told, const GenerationStats& stats, uint32_t n_ctx) {
  if (told != "length") return FinishReason::kStop;
  return stats.n_prompt + stats.n_generated >= n_ctx ? FinishReason::kContext : FinishReason::kLength;
}

// Assembles the answer from the chunks of its stream.
class Reading {
 public:
  Reading(const TextCallback& on_text, uint32_t n_ctx) : on_text_(on_text), n_ctx_(n_ctx) {}

  // False: stop reading.
  bool take(std::string_view data) {
    const Json chunk = Json::parse(data, nullptr, false);
    if (!chunk.is_object()) return true;  // [DONE]
    if (const auto usage = chunk.find("usage"); usage != chunk.end() && usage->is_object()) take_usage(*usage);
    if (const auto timings = chunk.find("timings"); timings != chunk.end()) take_timings(*timings);
    const auto choices = chunk.find("choices");
    if (choices == chunk.end() || choices->empty()) return true;
    const Json& choice = choices->front();
    if (choice["finish_reason"].is_string()) finish_reason_ = choice["finish_reason"].get<std::string>();
    if (choice.contains("text")) return take_text(TextKind::kContent, choice["text"]);
    const Json& delta = choice["delta"];
    for (const Json& call : delta.value("tool_calls", Json::array())) take_call(call);
    return take_text(TextKind::kReasoning, delta.value("reasoning_content", Json())) &&
           take_text(TextKind::kContent, delta.value("content", Json()));
  }

  TextGeneration finish(bool was_cancelled) {
    generation_.finish_reason =
        was_cancelled ? FinishReason::kCancelled : finish_reason_of(finish_reason_, generation_.stats, n_ctx_);
    return std::move(generation_);
  }

 private:
  bool take_text(TextKind kind, const Json& text) {
    if (!text.is_string() || text.get_ref<const std::string&>().empty()) return true;
    const auto& bytes = text.get_ref<const std::string&>();
    (kind == TextKind::kReasoning ? generation_.reasoning : generation_.text) += bytes;
    return on_text_({bytes, nullptr, kind, 0});
  }

  // A call's first piece contains its name.
  void take_call(const Json& piece) {
    const size_t idx = piece.value("index", size_t{0});
    if (idx >= generation_.calls.size()) generation_.calls.emplace_back();
    const Json function = piece.value("function", Json::object());
    generation_.calls.back().name += function.value("name", "");
    generation_.calls.back().arguments_json += function.value("arguments", "");
  }

  void take_usage(const Json& usage) {
    generation_.stats.n_prompt = usage.value("prompt_tokens", 0u);
    generation_.stats.n_generated = usage.value("completion_tokens", 0u);
    const Json details = usage.value("prompt_tokens_details", Json::object());
    if (details.is_object()) generation_.stats.n_cached = details.value("cached_tokens", 0u);
  }

  void take_timings(const Json& timings) {
    generation_.stats.prefill_ms = timings.value("prompt_ms", 0.0);
    generation_.stats.first_token_ms = generation_.stats.prefill_ms;
    generation_.stats.decode_ms = timings.value("predicted_ms", 0.0);
  }

  const TextCallback& on_text_;
  const uint32_t n_ctx_;
  TextGeneration generation_;
  std::string finish_reason_;
};

class ServiceWriter final : public Writer {
 public:
  ServiceWriter(std::unique_ptr<Service> service, const Json& model)
      : service_(std::move(service)),
        id_(model.value("id", "")),
        info_(info_of(model)),
        recommended_(sampling_of(model.value("sampling", Json::object()))),
        default_stop_(model.value("stop", std::vector<std::string>())) {}

  const ModelInfo& info() const override { return info_; }
  const std::vector<std::string>& default_stop() const override { return default_stop_; }

  Result<SamplingParams> sampling(const SamplingFlags& flags) override {
    SamplingParams params = recommended_;
    RZ_CHECK_OK(flags.put_over(params));
    breakers_ = flags.breakers();
    return params;
  }

  Status check_reasoning(const ReasoningOptions& reasoning) override {
    if (reasoning.asks_nothing() || !info_.has_chat_template) return {};
    Json variables{{"messages", Json::array({{{"role", "user"}, {"content", "?"}}})}};
    RZ_TRY([[maybe_unused]] const Prompt prompt, chat_prompt(std::move(variables), reasoning));
    return {};
  }

  // The server has a format of calls for models whose templates do not mention tools.
  Status check_knows_tools(const Json&) override { return {}; }

  Result<Prompt> chat_prompt(Json variables, const ReasoningOptions& reasoning) override {
    Json body = variables;
    body["model"] = id_;
    put_reasoning(reasoning, body);
    RZ_TRY(const Json counted, service_->ask("/v1/chat/completions/input_tokens", body));
    Prompt prompt;
    prompt.n_tokens = counted.value("input_tokens", size_t{0});
    prompt.variables = std::move(variables);
    return prompt;
  }

  Result<Prompt> raw_prompt(const std::string& text) override {
    RZ_TRY(const Json counted, service_->ask("/tokenize", {{"model", id_}, {"content", text}, {"add_special", true}}));
    Prompt prompt;
    prompt.text = text;
    prompt.n_tokens = counted.value("tokens", Json::array()).size();
    return prompt;
  }

  Result<TextGeneration> write(const Prompt& prompt, const AnswerOptions& options,
                               const TextCallback& on_text) override {
    const bool is_chat = !prompt.variables.is_null();
    Json body = is_chat ? prompt.variables : Json{{"prompt", prompt.text}};
    put_options(options, body);
    if (is_chat) put_tools(options, body);
    Reading reading(on_text, info_.n_ctx);
    const Status status = service_->stream(is_chat ? "/v1/chat/completions" : "/v1/completions", body,
                                           [&](std::string_view data) { return reading.take(data); });
    const bool was_cancelled = !status.ok() && status.error().code == ErrorCode::kCancelled;
    if (!status.ok() && !was_cancelled) return status.error();
    return reading.finish(was_cancelled);
  }

  void cancel() noexcept override { service_->cancel(); }

 private:
  void put_options(const AnswerOptions& options, Json& body) const {
    body["model"] = id_;
    body["stream"] = true;
    body["stream_options"] = {{"include_usage", true}};
    body["timings_per_token"] = true;
    put_sampling(options.sampling, body);
    body["seed"] = seed_or_drawn(options.seed);
    if (breakers_) body["dry_sequence_breakers"] = *breakers_;
    body["max_tokens"] = options.max_tokens ? Json(*options.max_tokens) : Json(-1);
    body["ignore_eos"] = options.ignore_eos;
    if (!options.stop.empty()) body["stop"] = options.stop;
    if (options.form) put_form(*options.form, body);
    if (!options.split_reasoning) return;
    body["reasoning_format"] = "auto";
    put_reasoning(options.reasoning, body);
  }

  const std::unique_ptr<Service> service_;
  const std::string id_;
  const ModelInfo info_;
  const SamplingParams recommended_;
  const std::vector<std::string> default_stop_;
  std::optional<std::vector<std::string>> breakers_;
};

}  // namespace

Result<std::unique_ptr<Writer>> service_writer(std::unique_ptr<Service> service, const std::string& given) {
  RZ_TRY(const Json model, service->open_model(given));
  std::unique_ptr<Writer> writer = std::make_unique<ServiceWriter>(std::move(service), model);
  if (!writer->info().gives_text) return unsupported(given + " gives vectors or scores, and no text", "model");
  return writer;
}

}  // namespace realizar::cli
