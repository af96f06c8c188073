// A model file with everything that generates from it: text side, backend, weights, engine.
#pragma once

#include <atomic>
#include <future>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/breaker_cache.h"
#include "api/generation_config.h"
#include "api/grammar_cache.h"
#include "api/text_assets.h"
#include "formats/model_file.h"
#include "realizar/engine.h"
#include "realizar/pooling.h"
#include "realizar/result.h"
#include "text/chat_template.h"
#include "text/output/output_format.h"
#include "text/tokenizer/tokenizer.h"

namespace realizar {

class Backend;
class Model;
struct AdapterSlots;
namespace text {
struct Conversation;
}
struct ModelConfig;
namespace engine {
class Engine;
class ModelDrafter;
struct EngineOptions;
}  // namespace engine

// A model that is being loaded: its file, opened once, and its config, read once.
struct ModelSource {
  const ModelFile& file;
  const ModelConfig& config;
};

// A warning to show once a model is loaded with a longer context than it was trained for; empty: none.
std::string long_context_warning(const ModelInfo& info);

struct LoadedModel {
  explicit LoadedModel(ModelFile model_file);
  ~LoadedModel();
  // Errors: those of the file, its tokenizer and template, and of the options, each by name.
  static Result<std::unique_ptr<LoadedModel>> load(const std::string& path, const LoadOptions& options);
  // Loads a model for texts of at most n_positions tokens, if the context is longer: the cache has that size, and the
  // rotations are those of the context.
  static Result<std::unique_ptr<LoadedModel>> load_for_short(const std::string& path, const LoadOptions& options,
                                                             uint32_t n_positions);
  // Memory that such a model needs: weights, and the cache with its block lists. Reads the file's header. Errors: those
  // of the file.
  static Result<uint64_t> needed_bytes(const std::string& path, const LoadOptions& options);

  ModelFile file;
  std::optional<text::Tokenizer> tokenizer;  // nullopt for a bare conformance file
  std::optional<text::ChatTemplate> chat_template;
  std::optional<text::ChatTemplate> tool_template;  // for conversations with tools, if they have their own
  ChatTemplateSource template_source;
  std::string output_source;  // ChatTemplateSource::joined(): shows how the model writes its answers
  text::OutputFormat output_format;
  GenerationConfig generation_config;
  std::unique_ptr<GrammarCache> grammars;  // null without a tokenizer, like the next member
  std::unique_ptr<BreakerCache> breakers;
  // Processes that share the model may share another one once the backend is destroyed.
  struct ReleaseRanks {
    void operator()(Ranks* shared) const;
  };
  std::unique_ptr<Ranks, ReleaseRanks> ranks;
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Model> model;
  std::unique_ptr<engine::Engine> engine;
  ModelInfo info;
  uint64_t list_bytes = 0;  // host memory for the cache's block lists

  // The draft model, if there is one.
  struct Draft {
    std::unique_ptr<Backend> backend;
    std::unique_ptr<Model> model;
    std::unique_ptr<engine::ModelDrafter> drafter;
  };
  Draft draft;

  // Errors: Unsupported if the file has no tokenizer.
  Result<const text::Tokenizer*> require_tokenizer() const;
  // Replaces the file's chat template. Errors: those of the template; Unsupported without a tokenizer.
  Status use_template(std::string source);
  // The template for a conversation with or without tools; null if the model has none for it.
  const text::ChatTemplate* template_for(bool has_tools) const;
  // The prompt of a conversation, fitted to its template; `others`: additional variables. Errors: those of
  // render_chat().
  Result<std::vector<text::PromptPiece>> render_conversation(text::Conversation conversation,
                                                             const nlohmann::ordered_json& others,
                                                             const text::ChatTemplate* other = nullptr) const;
  // The prompt of a conversation as given: `variables` as in ChatTemplate::render; add_generation_prompt defaults to
  // true, and today's date is added as date_string and datetime. `other`: a template to use instead of the model's.
  // Errors: Unsupported without a template; the template's own.
  Result<std::vector<text::PromptPiece>> render_chat(nlohmann::ordered_json variables,
                                                     const text::ChatTemplate* other = nullptr) const;
  // Identifies the program and the weights as loaded, for files of cached prefixes; nullopt if LoadOptions did not ask
  // for the hash. The draft model is not included: it fills no block of the engine's cache.
  std::optional<uint64_t> source_hash() const;
  std::vector<TokenId> encode_prompt(std::span<const text::PromptPiece> pieces) const;
  // How the model pools vectors; kRank: it gives scores.
  Pooling pooling() const;

 private:
  // Loads the tokenizer and everything made from it on a separate thread while the weights are read.
  void begin_text(const LoadOptions& options);
  // Call before using these. Errors: those of load_text().
  Status wait_for_text();
  Status load_text(const BesideSettings& beside, const EndSettings& ends);
  Status load_template(const std::string& beside);
  void load_tool_template();
  void set_output_format();
  Error no_template() const;
  Status load_weights(const LoadOptions& options);
  // `drafter`: null if there is none.
  Status load_models(const ModelConfig& config, const ModelSource* drafter, const LoadOptions& options,
                     const engine::EngineOptions& engine_options);
  Status load_models_on_ranks(const ModelSource& source, const ModelSource* drafter, const LoadOptions& options,
                              const engine::EngineOptions& engine_options);
  Status load_models_on(BackendChoice choice, const ModelSource& source, const ModelSource* drafter,
                        const LoadOptions& options, engine::EngineOptions engine_options);
  // Loads this process's share of the model, and has other processes load theirs.
  Status load_shares(const ModelSource& source, const LoadOptions& options, const AdapterSlots& slots);
  Status load_draft(const ModelSource& source, const LoadOptions& options, const engine::EngineOptions& engine_options);
  static Result<engine::EngineOptions> engine_options(const ModelConfig& config, const LoadOptions& options,
                                                      uint32_t max_positions);
  Status fit_cache(BackendChoice choice, const ModelConfig& config, const LoadOptions& options,
                   engine::EngineOptions& engine_options);
  Status check_same_vocabulary(const ModelSource& drafter, const ModelConfig& config);
  void fill_info();

  uint32_t n_positions_ = UINT32_MAX;
  std::atomic<bool> text_has_failed_ = false;
  Status text_status_;
  std::string cache_note_;    // a note for info.notes, which the thread writes to
  std::future<Status> text_;  // the last member: the thread uses the others
};

}  // namespace realizar
