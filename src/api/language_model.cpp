#include <chrono>
#include <nlohmann/json.hpp>

#include "api/answer_text.h"
#include "api/loaded_model.h"
#include "api/trace_log.h"
#include "realizar/engine.h"
#include "text/utf8.h"

namespace realizar {
namespace {

uint64_t now_ns() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

}  // namespace

struct LanguageModel::Impl {
  std::unique_ptr<LoadedModel> loaded;
  TraceLog trace;
};

Result<LanguageModel> LanguageModel::load(const std::string& path, const LoadOptions& options) {
  const uint64_t start_ns = now_ns();
  RZ_TRY(auto loaded, LoadedModel::load(path, options));
  return LanguageModel(std::make_unique<Impl>(Impl{std::move(loaded), TraceLog(start_ns)}));
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
  auto list = nlohmann::ordered_json::array();
  for (const ChatMessage& message : messages) {
    list.push_back({{"role", message.role}, {"content", text::replace_invalid_utf8(message.content)}});
  }
  RZ_TRY(const auto pieces, impl_->loaded->render_chat({{"messages", std::move(list)}}));
  return impl_->loaded->encode_prompt(pieces);
}

Result<std::vector<TokenId>> LanguageModel::apply_chat_template(std::string_view variables_json) const {
  RZ_CHECK_OK(impl_->loaded->require_tokenizer());
  auto variables = nlohmann::ordered_json::parse(variables_json, nullptr, false);
  if (!variables.is_object()) return invalid_argument("the template's variables are not a JSON object", "variables");
  RZ_TRY(const auto pieces, impl_->loaded->render_chat(std::move(variables)));
  return impl_->loaded->encode_prompt(pieces);
}

SamplingParams LanguageModel::default_sampling() const {
  return impl_->loaded->generation_config.sampling;
}

Result<Generation> LanguageModel::generate(const Request& request, const TokenCallback& on_token) {
  return impl_->loaded->engine->generate(request, on_token);
}

Result<std::vector<Generation>> LanguageModel::generate_all(std::span<const Request> requests) {
  return impl_->loaded->engine->generate_all(requests);
}

Result<TextGeneration> LanguageModel::generate_text(const Request& request, const TextOptions& options,
                                                    const TextCallback& on_text) {
  RZ_TRY(const text::Tokenizer* tokenizer, impl_->loaded->require_tokenizer());
  AnswerText answer(*tokenizer, impl_->loaded->template_source.source, request.prompt, options);
  TextGeneration result{};
  const auto give = [&](const std::vector<AnswerText::Piece>& pieces, const TokenEvent* token) {
    for (const auto& piece : pieces) (piece.is_reasoning ? result.reasoning : result.text) += piece.text;
    if (!on_text) return true;
    if (pieces.empty()) return token == nullptr || on_text({"", token});
    for (const auto& piece : pieces) {
      if (!on_text({piece.text, token, piece.is_reasoning})) return false;
      token = nullptr;
    }
    return true;
  };
  RZ_TRY(Generation generation, generate(request, [&](const TokenEvent& token) {
           return give(answer.push(token.id), &token) && !answer.is_stopped();
         }));
  if (answer.is_stopped() || generation.finish_reason != FinishReason::kCancelled) give(answer.finish(), nullptr);
  result.tokens = std::move(generation.tokens);
  result.finish_reason = answer.is_stopped() ? FinishReason::kStop : generation.finish_reason;
  result.stats = generation.stats;
  return result;
}

Result<std::vector<float>> LanguageModel::logits(std::span<const TokenId> tokens, uint32_t n_prompt, uint32_t n_last) {
  return impl_->loaded->engine->logits(tokens, n_prompt, n_last);
}

void LanguageModel::cancel() {
  impl_->loaded->engine->cancel();
}
void LanguageModel::clear_cache() {
  impl_->loaded->engine->clear_cache();
}

void LanguageModel::set_trace(bool on) {
  Impl* impl = impl_.get();
  impl->loaded->backend->set_trace(on);
  impl->loaded->engine->set_step_observer(on ? [impl] { impl->trace.add(impl->loaded->backend->last_trace()); }
                                             : std::function<void()>());
}

std::vector<TraceRow> LanguageModel::trace_table() const {
  return impl_->trace.table();
}
std::string LanguageModel::trace_note() const {
  return std::string(impl_->loaded->backend->trace_note());
}
std::vector<TraceEvent> LanguageModel::trace_events() const {
  return impl_->trace.events();
}
void LanguageModel::clear_trace() {
  impl_->trace.clear();
}

}  // namespace realizar
