#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>

#include "api/generation_config.h"
#include "api/text_assets.h"
#include "api/trace_log.h"
#include "backend/cpu/cpu_backend.h"
#include "backend/reference/reference_backend.h"
#include "engine/engine.h"
#include "realizar/engine.h"
#include "text/chat_template.h"
#include "text/detokenizer.h"

namespace realizar {
namespace {

constexpr uint32_t kDefaultContext = 8192;

uint64_t now_ns() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

template <class T>
struct Named {
  std::string_view name;
  T value;
};

constexpr Named<KvType> kKvTypes[] = {
    {"f32", KvType::kF32}, {"f16", KvType::kF16}, {"bf16", KvType::kBF16}, {"q8_0", KvType::kQ8_0}};
constexpr Named<CpuIsa> kIsas[] = {
    {"auto", CpuIsa::kAuto},        {"portable", CpuIsa::kPortable}, {"avx2", CpuIsa::kAvx2},
    {"avx-vnni", CpuIsa::kAvxVnni}, {"avx512", CpuIsa::kAvx512},     {"amx", CpuIsa::kAmx},
    {"neon", CpuIsa::kNeon},        {"dotprod", CpuIsa::kDotprod},   {"i8mm", CpuIsa::kI8mm}};

template <class T, size_t n>
Result<T> parse_name(const Named<T> (&choices)[n], std::string_view name, const char* option) {
  std::string known;
  for (const Named<T>& choice : choices) {
    if (choice.name == name) return choice.value;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", choice.name);
  }
  return invalid_argument(fmt::format("{}: expected one of {}, actual '{}'", option, known, name), option);
}

Result<std::unique_ptr<Backend>> make_backend(const LoadOptions& options) {
  if (options.backend == "reference") return make_reference_backend();
  if (options.backend != "cpu") {
    return invalid_argument("backend: expected cpu or reference, actual '" + options.backend + "'", "backend");
  }
  RZ_TRY(const CpuIsa isa, parse_name(kIsas, options.isa, "isa"));
  return make_cpu_backend({options.n_threads, isa});
}

// A model that users wrote for may lack a tokenizer (a bare conformance file); it then generates from ids alone.
Result<std::optional<text::Tokenizer>> optional_tokenizer(const ModelFile& file) {
  auto tokenizer = load_tokenizer(file);
  if (tokenizer.ok()) return std::optional(std::move(*tokenizer));
  if (tokenizer.error().code == ErrorCode::kNotFound) return std::optional<text::Tokenizer>();
  return std::move(tokenizer).error();
}

}  // namespace

struct LanguageModel::Impl {
  explicit Impl(ModelFile model_file) : file(std::move(model_file)), trace(now_ns()) {}

  ModelFile file;
  std::optional<text::Tokenizer> tokenizer;
  std::optional<text::ChatTemplate> chat_template;
  ChatTemplateSource template_source;
  GenerationConfig generation_config;
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Model> model;
  std::unique_ptr<Engine> engine;
  ModelInfo info;
  TraceLog trace;

  Status load_text();
  Status load_weights(const LoadOptions& options);
  void fill_info();
  Result<const text::Tokenizer*> require_tokenizer() const;
};

Status LanguageModel::Impl::load_text() {
  RZ_TRY(tokenizer, optional_tokenizer(file));
  if (!tokenizer) return {};
  RZ_TRY(generation_config, read_generation_config(file, *tokenizer));
  RZ_TRY(auto source, load_chat_template(file, *tokenizer));
  if (!source) return {};
  template_source = std::move(*source);
  RZ_TRY(chat_template, text::ChatTemplate::parse(template_source.source));
  return {};
}

Status LanguageModel::Impl::load_weights(const LoadOptions& options) {
  EngineOptions engine_options;
  RZ_TRY(engine_options.kv_type, parse_name(kKvTypes, options.kv_type, "kv_type"));
  RZ_TRY(const ModelConfig config, read_config(file));
  engine_options.n_ctx = options.n_ctx > 0 ? options.n_ctx : std::min(config.n_ctx_train, kDefaultContext);
  if (options.max_batch_tokens < 1) return invalid_argument("max_batch_tokens: expected 1 or more, actual 0");
  engine_options.max_seqs = options.max_seqs;
  engine_options.max_batch_tokens = options.max_batch_tokens;
  RZ_TRY(backend, make_backend(options));
  RZ_CHECK_OK(backend->configure(Engine::limits_for(engine_options)));
  RZ_TRY(Model loaded, Model::load(file, *backend, {engine_options.n_ctx, options.progress}));
  model = std::make_unique<Model>(std::move(loaded));
  RZ_TRY(engine, Engine::create(*model, *backend, generation_config.end_tokens, engine_options));
  return {};
}

void LanguageModel::Impl::fill_info() {
  const ModelConfig& c = model->config();
  info.path = file.path().string();
  info.name = c.name;
  info.arch = c.arch;
  info.backend = backend->description();
  info.n_layers = c.n_layers;
  info.d_model = c.d_model;
  info.n_heads = c.n_heads;
  info.n_kv_heads = c.n_kv_heads;
  info.head_dim = c.head_dim;
  info.d_ff = c.d_ff;
  info.n_vocab = c.n_vocab;
  info.n_ctx = engine->n_ctx();
  info.n_ctx_train = c.n_ctx_train;
  info.n_params = 0;
  for (const TensorInfo& tensor : file.tensors()) info.n_params += tensor.n_elems();
  info.file_bytes = file.file_bytes();
  info.weight_bytes = backend->weight_bytes();
  info.kv_bytes = backend->kv_bytes();
  info.has_chat_template = chat_template.has_value();
}

Result<const text::Tokenizer*> LanguageModel::Impl::require_tokenizer() const {
  if (!tokenizer) return unsupported(file.path().string() + " has no tokenizer", file.path().string());
  return &*tokenizer;
}

Result<LanguageModel> LanguageModel::load(const std::string& path, const LoadOptions& options) {
  RZ_TRY(ModelFile file, ModelFile::open(path));
  auto impl = std::make_unique<Impl>(std::move(file));
  RZ_CHECK_OK(impl->load_text());
  RZ_CHECK_OK(impl->load_weights(options));
  impl->fill_info();
  return LanguageModel(std::move(impl));
}

LanguageModel::LanguageModel(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LanguageModel::LanguageModel(LanguageModel&&) noexcept = default;
LanguageModel& LanguageModel::operator=(LanguageModel&&) noexcept = default;
LanguageModel::~LanguageModel() = default;

const ModelInfo& LanguageModel::info() const {
  return impl_->info;
}

Result<std::vector<TokenId>> LanguageModel::tokenize(std::string_view text, bool add_special,
                                                     bool parse_special) const {
  RZ_TRY(const text::Tokenizer* tokenizer, impl_->require_tokenizer());
  return tokenizer->encode(text, {add_special, parse_special});
}

Result<std::string> LanguageModel::detokenize(std::span<const TokenId> tokens, bool skip_special) const {
  RZ_TRY(const text::Tokenizer* tokenizer, impl_->require_tokenizer());
  return tokenizer->decode(tokens, {skip_special});
}

Result<std::vector<TokenId>> LanguageModel::apply_chat_template(std::string_view variables_json) const {
  RZ_TRY(const text::Tokenizer* tokenizer, impl_->require_tokenizer());
  if (!impl_->chat_template) {
    return unsupported(impl_->info.path + " has no chat template; --raw uses a prompt as it is", "chat_template");
  }
  auto variables = nlohmann::ordered_json::parse(variables_json, nullptr, false);
  if (!variables.is_object()) return invalid_argument("the template's variables are not a JSON object", "variables");
  const ChatTemplateSource& source = impl_->template_source;
  variables.emplace("add_generation_prompt", true);
  variables.emplace("bos_token", source.bos_token);
  variables.emplace("eos_token", source.eos_token);
  RZ_TRY(const auto pieces, impl_->chat_template->render(variables, static_cast<int64_t>(std::time(nullptr))));
  // The template writes bos and eos itself, as Hugging Face's apply_chat_template has it.
  return tokenizer->encode(pieces, {.add_special = false, .parse_special = true});
}

SamplingParams LanguageModel::default_sampling() const {
  return impl_->generation_config.sampling;
}

Result<Generation> LanguageModel::generate(const Request& request, const TokenCallback& on_token) {
  return impl_->engine->generate(request, on_token);
}

Result<std::vector<Generation>> LanguageModel::generate_all(std::span<const Request> requests) {
  return impl_->engine->generate_all(requests);
}

Result<TextGeneration> LanguageModel::generate_text(const Request& request, const TextOptions& options,
                                                    const TextCallback& on_text) {
  RZ_TRY(const text::Tokenizer* tokenizer, impl_->require_tokenizer());
  text::StreamingDetokenizer detokenizer(*tokenizer, options.stop, {options.skip_special});
  TextGeneration result{};
  bool is_stopped = false;
  const auto give = [&](std::string_view text, const TokenEvent* token) {
    result.text += text;
    return !on_text || on_text({text, token});
  };
  RZ_TRY(Generation generation, generate(request, [&](const TokenEvent& token) {
           const auto output = detokenizer.push(token.id);
           is_stopped = output.stopped;
           return give(output.text, &token) && !is_stopped;
         }));
  if (!is_stopped && generation.finish_reason != FinishReason::kCancelled) {
    const auto rest = detokenizer.finish();
    is_stopped = rest.stopped;
    if (!rest.text.empty()) give(rest.text, nullptr);
  }
  result.tokens = std::move(generation.tokens);
  result.finish_reason = is_stopped ? FinishReason::kStop : generation.finish_reason;
  result.stats = generation.stats;
  return result;
}

Result<std::vector<float>> LanguageModel::logits(std::span<const TokenId> tokens, uint32_t n_prompt, uint32_t n_last) {
  return impl_->engine->logits(tokens, n_prompt, n_last);
}

void LanguageModel::cancel() {
  impl_->engine->cancel();
}
void LanguageModel::clear_cache() {
  impl_->engine->clear_cache();
}

void LanguageModel::set_trace(bool on) {
  Impl* impl = impl_.get();
  impl->backend->set_trace(on);
  impl->engine->set_step_observer(on ? [impl] { impl->trace.add(impl->backend->last_trace()); }
                                     : std::function<void()>());
}

std::vector<TraceRow> LanguageModel::trace_table() const {
  return impl_->trace.table();
}
std::vector<TraceEvent> LanguageModel::trace_events() const {
  return impl_->trace.events();
}
void LanguageModel::clear_trace() {
  impl_->trace.clear();
}

}  // namespace realizar
