#include <algorithm>
#include <chrono>
#include <iterator>
#include <nlohmann/json.hpp>

#include "api/found_model.h"
#include "api/language_model.h"
#include "api/ranking.h"
#include "api/text_builder.h"
#include "base/try.h"
#include "engine/adapters.h"
#include "engine/engine.h"
#include "hub/locate.h"
#include "hub/user_folders.h"
#include "model/model.h"
#include "text/conversation.h"
#include "text/utf8.h"

namespace realizar {
namespace {

uint64_t now_ns() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

// Uses the files stored with the model, unless the caller has set its own.
Result<LoadOptions> options_for(FoundModel& found, LoadOptions options, const hub::Library& library) {
  const bool has_own = !options.beside.chat_template.empty() || !options.beside.params.empty();
  if (!has_own) options.beside = std::move(found.beside);
  if (found.adapter) {
    if (options.adapters.default_name.empty()) options.adapters.default_name = found.adapter->name;
    options.adapters.sources.push_back(std::move(*found.adapter));
  }
  if (!options.draft.path.empty()) {
    RZ_TRY(const hub::LocalModel draft, hub::locate(library, options.draft.path));
    options.draft.path = draft.path.string();
  }
  return options;
}

bool is_system_message(const nlohmann::ordered_json& message) {
  const auto role = message.is_object() ? message.value("role", nlohmann::ordered_json()) : nlohmann::ordered_json();
  return role == "system" || role == "developer";
}

}  // namespace

void TraceLog::add(const engine::StepTokens& tokens, std::span<const OpTiming> timings) {
  const std::lock_guard lock(mutex_);
  table_.add(tokens, timings);
  steps_.push_back({tokens.n_computed, {timings.begin(), timings.end()}});
}

Trace TraceLog::trace() const {
  const std::lock_guard lock(mutex_);
  return table_.trace();
}

void TraceLog::clear() {
  const std::lock_guard lock(mutex_);
  table_ = {};
  steps_.clear();
}

std::vector<TraceEvent> TraceLog::events() const {
  const std::lock_guard lock(mutex_);
  std::vector<TraceEvent> events;
  for (size_t step = 0; step < steps_.size(); ++step) {
    for (const OpTiming& timing : steps_[step].timings) {
      events.push_back({name_of(timing.kind, timing.place.role),
                        static_cast<double>(timing.start_ns - start_ns_) * 1e-3,
                        static_cast<double>(timing.duration_ns) * 1e-3, timing.place.layer, timing.decode, step,
                        steps_[step].n_tokens});
    }
  }
  return events;
}

Result<LanguageModel::Impl::Call> LanguageModel::Impl::begin_call() {
  if (has_session) return invalid_argument("the model has a session, and only that may run requests on it", "model");
  if (has_call.exchange(true)) {
    return invalid_argument(
        "the model is busy with another call: in a callback, only cancel() and const functions can be called", "model");
  }
  return Call(&has_call);
}

// A cancel() for earlier generations has no effect on the session's requests: an empty generation clears it in the
// engine.
Status LanguageModel::Impl::begin_session() {
  const std::lock_guard lock(session_mutex);
  if (has_session) return invalid_argument("the model has a session already", "model");
  RZ_TRY(const Call call, begin_call());
  if (session_end.joinable()) session_end.join();
  has_session = true;
  static_cast<void>(loaded->engine->generate_all({}).ok());
  return {};
}

void LanguageModel::Impl::trace_steps(bool on) {
  if (!on) return loaded->engine->set_step_observer({});
  loaded->engine->set_step_observer(
      [this](const engine::StepTokens& tokens, std::span<const OpTiming> timings) { trace.add(tokens, timings); });
}

Result<LanguageModel> LanguageModel::load(const std::string& model, const LoadOptions& options) {
  const uint64_t start_ns = now_ns();
  const hub::Library library = hub::user_library(options.models_store);
  RZ_TRY(FoundModel found, find_model(library, model));
  RZ_TRY(const LoadOptions own, options_for(found, options, library));
  RZ_TRY(auto loaded, LoadedModel::load(found.path, own));
  auto impl = std::make_unique<Impl>(std::move(loaded), start_ns);
  impl->beginning = read_chat_beginning(std::move(found.system), found.messages, impl->loaded->info.notes);
  return LanguageModel(std::move(impl));
}

LanguageModel::LanguageModel(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LanguageModel::LanguageModel(LanguageModel&&) noexcept = default;
LanguageModel& LanguageModel::operator=(LanguageModel&&) noexcept = default;
LanguageModel::~LanguageModel() = default;

const ModelInfo& LanguageModel::info() const {
  return impl_->loaded->info;
}

Result<std::vector<TokenId>> LanguageModel::tokenize(std::string_view text, bool add_special,
                                                     bool parse_special) const {
  RZ_TRY(const text::Tokenizer* tokenizer, impl_->loaded->require_tokenizer());
  return tokenizer->encode(text, {add_special, parse_special});
}

Result<std::string> LanguageModel::detokenize(std::span<const TokenId> tokens, bool skip_special) const {
  RZ_TRY(const text::Tokenizer* tokenizer, impl_->loaded->require_tokenizer());
  return tokenizer->decode(tokens, {skip_special});
}

Result<std::vector<TokenId>> LanguageModel::chat_prompt(const std::vector<ChatMessage>& messages) const {
  RZ_CHECK_OK(impl_->loaded->require_tokenizer());
  std::vector<text::Message> list;
  for (const ChatMessage& message : messages) {
    list.push_back({.role = text::role_named(message.role),
                    .content = text::replace_invalid_utf8(message.content),
                    .more = {{"role", message.role}}});
  }
  text::Conversation conversation{impl_->beginning.before(std::ranges::any_of(list, text::is_system))};
  std::ranges::move(list, std::back_inserter(conversation.messages));
  RZ_TRY(const auto pieces,
         impl_->loaded->render_conversation(std::move(conversation), nlohmann::ordered_json::object()));
  return impl_->loaded->encode_prompt(pieces);
}

Result<std::vector<TokenId>> LanguageModel::apply_chat_template(std::string_view variables_json) const {
  RZ_CHECK_OK(impl_->loaded->require_tokenizer());
  auto variables = nlohmann::ordered_json::parse(variables_json, nullptr, false);
  if (!variables.is_object()) return invalid_argument("the template's variables are not a JSON object", "variables");
  const bool has_messages = variables.contains("messages") && variables["messages"].is_array();
  if (has_messages && !impl_->beginning.empty()) {
    auto& messages = variables["messages"];
    auto all =
        text::fitted({impl_->beginning.before(std::ranges::any_of(messages, is_system_message))}, {})["messages"];
    for (auto& message : messages) all.push_back(std::move(message));
    messages = std::move(all);
  }
  RZ_TRY(const auto pieces, impl_->loaded->render_chat(std::move(variables)));
  return impl_->loaded->encode_prompt(pieces);
}

SamplingParams LanguageModel::default_sampling() const {
  return impl_->loaded->generation_config.sampling;
}

const std::vector<std::string>& LanguageModel::default_stop() const {
  return impl_->loaded->generation_config.stop;
}

Result<std::shared_ptr<const SequenceBreakers>> LanguageModel::sequence_breakers(
    std::span<const std::string> texts) const {
  RZ_CHECK_OK(impl_->loaded->require_tokenizer());
  return impl_->loaded->breakers->of(texts);
}

Result<Generation> LanguageModel::generate(const Request& request, const TokenCallback& on_token) {
  RZ_TRY(const Impl::Call call, impl_->begin_call());
  return impl_->loaded->engine->generate(request, on_token);
}

Result<std::vector<Generation>> LanguageModel::generate_all(std::span<const Request> requests) {
  RZ_TRY(const Impl::Call call, impl_->begin_call());
  return impl_->loaded->engine->generate_all(requests);
}

Result<TextGeneration> LanguageModel::generate_text(const Request& request, const TextOptions& options,
                                                    const TextCallback& on_text) {
  RZ_TRY(const text::Tokenizer* tokenizer, impl_->loaded->require_tokenizer());
  RZ_TRY(const TextPlan plan, plan_text(options));
  RZ_TRY(const Impl::Call call, impl_->begin_call());
  TextBuilder builder(*tokenizer, impl_->loaded->output_format, request.prompt, plan, on_text);
  RZ_TRY(Generation generation,
         impl_->loaded->engine->generate(request, [&](const TokenEvent& token) { return builder.push(token); }));
  return builder.finish(std::move(generation));
}

Status LanguageModel::generate_texts(std::span<const Request> requests, const TextOptions& options,
                                     const TextEndCallback& on_end) {
  RZ_TRY(const Impl::Call call, impl_->begin_call());
  RZ_TRY(const text::Tokenizer* tokenizer, impl_->loaded->require_tokenizer());
  RZ_TRY(const TextPlan plan, plan_text(options));
  const TextCallback no_callback;
  std::vector<std::unique_ptr<TextBuilder>> builders(requests.size());
  const auto builder_of = [&](size_t idx) -> TextBuilder& {
    if (!builders[idx]) {
      builders[idx] = std::make_unique<TextBuilder>(*tokenizer, impl_->loaded->output_format, requests[idx].prompt,
                                                    plan, no_callback);
    }
    return *builders[idx];
  };
  impl_->loaded->engine->generate_each(
      requests, [&](size_t idx, const TokenEvent& token) { return builder_of(idx).push(token); },
      [&](size_t idx, Result<Generation> generation) {
        if (!generation.ok()) return on_end(idx, std::move(generation).error());
        TextGeneration result = builder_of(idx).finish(std::move(*generation));
        builders[idx] = nullptr;
        on_end(idx, std::move(result));
      });
  return {};
}

Pooling LanguageModel::pooling() const {
  return impl_->loaded->model->config().pooling;
}

Result<std::vector<std::vector<float>>> LanguageModel::embed(std::span<const std::string> texts) {
  if (pooling() == Pooling::kRank) {
    return unsupported(info().path + " is a reranker, which scores texts and cannot make vectors", "model");
  }
  std::vector<Request> requests(texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    RZ_TRY(requests[i].prompt, tokenize(texts[i]));
    requests[i].pooling = pooling();
  }
  RZ_TRY(auto generations, generate_all(requests));
  std::vector<std::vector<float>> vectors;
  for (Generation& generation : generations) vectors.push_back(std::move(generation.embedding));
  return vectors;
}

Result<std::vector<float>> LanguageModel::rank(std::string_view query, std::span<const std::string> documents) {
  RZ_CHECK_OK(check_ranks(*impl_->loaded));
  std::vector<Request> requests(documents.size());
  for (size_t i = 0; i < documents.size(); ++i) {
    RZ_TRY(requests[i].prompt, rank_prompt(query, documents[i]));
    requests[i].pooling = Pooling::kRank;
  }
  RZ_TRY(const auto generations, generate_all(requests));
  std::vector<float> relevances;
  for (const Generation& generation : generations) {
    if (generation.finish_reason == FinishReason::kCancelled) {
      return Error{ErrorCode::kCancelled, "the call was cancelled", ""};
    }
    relevances.push_back(relevance(generation.embedding));
  }
  return relevances;
}

Result<std::vector<TokenId>> LanguageModel::rank_prompt(std::string_view query, std::string_view document) const {
  RZ_CHECK_OK(check_ranks(*impl_->loaded));
  return realizar::rank_prompt(*impl_->loaded, query, document);
}

float LanguageModel::relevance(std::span<const float> scores) {
  return relevance_of(scores);
}

Result<std::vector<float>> LanguageModel::logits(std::span<const TokenId> tokens, uint32_t n_prompt, uint32_t n_last,
                                                 KvNumbers* kv) {
  RZ_TRY(const Impl::Call call, impl_->begin_call());
  return impl_->loaded->engine->logits(tokens, n_prompt, n_last, kv);
}

Status LanguageModel::load_adapter(const AdapterSource& source) {
  RZ_TRY(const Impl::Call call, impl_->begin_call());
  return impl_->loaded->engine->adapters().load(source);
}

Status LanguageModel::unload_adapter(std::string_view name) {
  RZ_TRY(const Impl::Call call, impl_->begin_call());
  return impl_->loaded->engine->adapters().remove(name);
}

Status LanguageModel::use_adapter(std::string_view name, std::optional<float> scale) {
  RZ_TRY(const Impl::Call call, impl_->begin_call());
  return impl_->loaded->engine->adapters().set_default(name, scale);
}

std::vector<AdapterInfo> LanguageModel::adapters() const {
  return impl_->loaded->engine->adapters().list();
}

void LanguageModel::cancel() {
  const std::lock_guard lock(impl_->session_mutex);
  if (!impl_->has_session) impl_->loaded->engine->cancel();
}
bool LanguageModel::has_idle_work() const {
  return !impl_->has_session && impl_->loaded->engine->has_idle_work();
}
Status LanguageModel::idle_step() {
  RZ_TRY(const Impl::Call call, impl_->begin_call());
  return impl_->loaded->engine->idle_step();
}
void LanguageModel::clear_cache(bool wipe) {
  const auto call = impl_->begin_call();
  if (!call.ok()) return;
  engine::Engine& engine = *impl_->loaded->engine;
  engine.forget_prefixes();
  while (wipe && !engine.wipe_some()) {
  }
}

void LanguageModel::set_trace(bool on) {
  const auto call = impl_->begin_call();
  if (!call.ok()) return;
  impl_->trace_steps(on);
}

Status LanguageModel::watch_products(std::function<void(const MatrixProduct&)> callback) {
  RZ_TRY(const Impl::Call call, impl_->begin_call());
  if (!callback) return impl_->loaded->backend->watch_inputs({});
  return impl_->loaded->backend->watch_inputs([callback = std::move(callback)](const MatrixInput& input) {
    callback({input.matrix, input.mat_idx, input.n_mats, input.n_cols, input.rows});
  });
}

Trace LanguageModel::trace() const {
  return impl_->trace.trace();
}
std::string LanguageModel::trace_note() const {
  return impl_->loaded->backend->info().trace_note;
}
std::vector<TraceEvent> LanguageModel::trace_events() const {
  return impl_->trace.events();
}
void LanguageModel::clear_trace() {
  impl_->trace.clear();
}

}  // namespace realizar
