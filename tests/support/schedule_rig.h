// Engines over a HashBackend for tests of scheduling: arrivals, the tokens of each request by itself, and the checks
// after every step.
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "engine/adapters.h"
#include "engine/cache_sizes.h"
#include "engine/engine.h"
#include "engine/model_drafter.h"
#include "engine/prefixes.h"
#include "engine/sequence.h"
#include "formats/model_file.h"
#include "model/adapter_file.h"
#include "model/model.h"
#include "sampling/sampler.h"
#include "support/hash_backend.h"

namespace realizar::testing {

inline constexpr uint32_t kContext = 96;

// The adapters of a Rig, in order.
inline constexpr const char* kAdapterNames[] = {"a", "b"};
inline BatchAdapter adapter_of(const Request& request) {
  if (!request.adapter) return {};
  return {*request.adapter == kAdapterNames[0] ? 0u : 1u, request.adapter_scale.value_or(1.0f)};
}

struct Arrival {
  Request request;
  uint32_t at_step = 0;
  std::optional<uint32_t> cancel_at_step;
};

// Layers that see everything; two layers with a window of 16 positions, and one without; and both with additional
// recurrent layers.
enum class Layers : uint8_t { kAlike, kWindowed, kAlikeAndRecurrent, kWindowedAndRecurrent };
inline constexpr Layers kAllLayers[] = {Layers::kAlike, Layers::kWindowed, Layers::kAlikeAndRecurrent,
                                        Layers::kWindowedAndRecurrent};

inline bool has_windows(Layers layers) {
  return layers == Layers::kWindowed || layers == Layers::kWindowedAndRecurrent;
}
inline bool has_state(Layers layers) {
  return layers == Layers::kAlikeAndRecurrent || layers == Layers::kWindowedAndRecurrent;
}

inline const ModelFile& file_of(Layers layers) {
  static const ModelFile alike = std::move(*ModelFile::open(RZ_SOURCE_DIR "/tests/data/conformance/llama.gguf"));
  static const ModelFile windowed = std::move(*ModelFile::open(RZ_SOURCE_DIR "/tests/data/conformance/gemma2-hf"));
  return has_windows(layers) ? windowed : alike;
}

// An engine over a HashBackend, with the dimensions of a small model.
class Rig {
 public:
  explicit Rig(engine::EngineOptions options, bool decode_matches_prefill = false, Layers layers = Layers::kAlike)
      : backend_(decode_matches_prefill, has_state(layers)), draft_backend_(false, has_state(layers)) {
    const ModelFile& file = file_of(layers);
    options.n_ctx = kContext;
    max_rows_ = engine::limits_for(options).max_rows + (has_state(layers) ? options.n_draft : 0);
    RC_ASSERT(backend_.configure(engine::limits_for(options)).ok());
    const ModelOptions model_options{.n_ctx = kContext, .adapters = {std::size(kAdapterNames), 8}};
    model_ = std::make_unique<Model>(std::move(*Model::load(file, backend_, model_options)));
    engine_ = std::move(*engine::Engine::create(*model_, backend_, {}, options));
    for (const char* name : kAdapterNames) load_adapter(name);
  }

  // Speculative tokens come from a second model, which is sometimes right.
  void use_drafter(engine::DrafterOptions options, Layers layers = Layers::kAlike) {
    const ModelFile& file = file_of(layers);
    options.n_ctx = kContext;
    RC_ASSERT(draft_backend_.configure(engine::ModelDrafter::limits_for(options)).ok());
    draft_model_ = std::make_unique<Model>(std::move(*Model::load(file, draft_backend_, {.n_ctx = kContext})));
    drafter_ = std::move(*engine::ModelDrafter::create(*draft_model_, draft_backend_, options));
    engine_->set_drafter(drafter_.get());
  }
  engine::Engine& engine() { return *engine_; }
  HashBackend& backend() { return backend_; }
  uint32_t n_vocab() const { return model_->config().n_vocab; }
  uint32_t max_rows() const { return max_rows_; }  // of a step, and the speculative ones among them

 private:
  // An adapter that adds nothing: its results are distinguished by its slot.
  void load_adapter(const char* name) {
    auto adapter = std::make_unique<Adapter>();
    adapter->pairs.resize(model_->adapter_targets().n_parts());
    adapter->fingerprint = static_cast<uint64_t>(name[0]);
    const auto load = engine_->adapters().begin_load({name, name}, std::move(adapter)).value();
    RC_ASSERT(engine_->adapters().write_some(*load).value());
  }

  HashBackend backend_, draft_backend_;
  uint32_t max_rows_ = 0;
  std::unique_ptr<Model> model_, draft_model_;
  std::unique_ptr<engine::ModelDrafter> drafter_;
  std::unique_ptr<engine::Engine> engine_;
};

// The hash of the visible part of a text whose first n_prompt tokens are a prompt.
inline uint64_t hash_of_seen(std::span<const TokenId> tokens, size_t n_prompt, bool decode_matches_prefill,
                             Layers layers, const BatchAdapter& adapter = {}) {
  const std::vector<size_t> windows = has_windows(layers) ? std::vector<size_t>{16, 16, 0} : std::vector<size_t>{0};
  uint64_t hash = 1;
  for (const size_t window : windows) {
    for (size_t pos = window > 0 && tokens.size() > window ? tokens.size() - window : 0; pos < tokens.size(); ++pos) {
      hash = HashBackend::fold(hash, tokens[pos], !decode_matches_prefill && pos >= n_prompt, adapter);
    }
  }
  if (!has_state(layers)) return hash;
  uint64_t state = HashBackend::kFirstState;
  for (size_t pos = 0; pos < tokens.size(); ++pos) {
    state = HashBackend::fold(state, tokens[pos], !decode_matches_prefill && pos >= n_prompt, adapter);
  }
  return HashBackend::fold_state(hash, state);
}

// The tokens of a request by itself, from the definition and not from the engine.
inline std::vector<TokenId> tokens_alone(const Request& request, uint32_t n_vocab, bool decode_matches_prefill = false,
                                         Layers layers = Layers::kAlike) {
  Sampler sampler(n_vocab);
  SamplerState state;
  std::vector<TokenId> tokens = request.prompt;
  std::vector<float> logits(n_vocab);
  const size_t n_room = std::max<size_t>(kContext - request.prompt.size(), 1);
  const size_t n_wanted = std::min<size_t>(request.max_tokens.value_or(kContext), n_room);
  for (size_t i = 0; i < n_wanted; ++i) {
    const uint64_t seen =
        hash_of_seen(tokens, request.prompt.size(), decode_matches_prefill, layers, adapter_of(request));
    HashBackend::fill_logits(seen, logits);
    tokens.push_back(sampler.sample(request.sampling, logits, tokens, {}, &state));
  }
  return {tokens.begin() + static_cast<std::ptrdiff_t>(request.prompt.size()), tokens.end()};
}

// The log-probabilities of a request's prompt, from the second token on.
inline std::vector<float> prompt_logprobs_alone(const Request& request, uint32_t n_vocab, Layers layers) {
  const Sampler sampler(n_vocab);
  std::vector<float> logits(n_vocab), logprobs;
  for (size_t i = 0; i + 1 < request.prompt.size() && request.prompt_logprobs; ++i) {
    const auto seen = std::span(request.prompt).first(i + 1);
    HashBackend::fill_logits(hash_of_seen(seen, seen.size(), false, layers, adapter_of(request)), logits);
    logprobs.push_back(sampler.logprob(logits, request.prompt[i + 1]));
  }
  return logprobs;
}

inline Request request_of(uint32_t n_prompt, uint32_t max_tokens) {
  Request request;
  request.prompt.assign(n_prompt, TokenId{1});
  request.max_tokens = max_tokens;
  return request;
}

class Recorder final : public engine::RequestSink {
 public:
  bool on_token(const TokenEvent& event) override {
    if (throws) throw std::bad_alloc();
    if (event.is_prompt) {
      prompt_logprobs.push_back(event.logprob.value());
      RC_ASSERT(event.index == prompt_logprobs.size());
      return true;
    }
    RC_ASSERT(event.index == tokens.size());
    RC_ASSERT(n_ends == 0);
    tokens.push_back(event.id);
    return true;
  }
  void on_end(const engine::Ending& ending) noexcept override {
    ++n_ends;
    reason = ending.reason;
    if (ending.error != nullptr) error = ending.error->code;
    ended_whole = std::ranges::equal(ending.tokens, tokens);
  }
  bool is_cancelled() const override { return cancelled; }

  std::vector<TokenId> tokens;
  std::vector<float> prompt_logprobs;
  int n_ends = 0;
  FinishReason reason{};
  std::optional<ErrorCode> error;
  bool cancelled = false;
  bool ended_whole = false;  // its end contained the tokens reported before
  bool throws = false;       // at its next token
};

// Samplers that look back on a request's tokens, or learn from them.
inline void use_samplers_with_memory(SamplingParams& sampling) {
  sampling.mirostat = *rc::gen::inRange(0, 3);
  sampling.mirostat_tau = *rc::gen::element(1.0f, 4.0f);
  sampling.dry_multiplier = *rc::gen::element(0.0f, 2.0f);
  sampling.xtc_probability = *rc::gen::element(0.0f, 0.5f);
  sampling.dynatemp_range = *rc::gen::element(0.0f, 0.5f);
  sampling.frequency_penalty = *rc::gen::element(0.0f, 0.5f);
}

// Prompts with few letters, so that prefixes are shared and endings repeat.
inline Arrival make_arrival() {
  Arrival arrival;
  const int n_prompt = *rc::gen::inRange(1, 60);
  const int letters = *rc::gen::inRange(1, 3);
  for (int i = 0; i < n_prompt; ++i) arrival.request.prompt.push_back(TokenId{*rc::gen::inRange(0, letters)});
  arrival.request.max_tokens = *rc::gen::inRange(0u, 40u);
  arrival.request.sampling.temperature = *rc::gen::element(0.0f, 1.0f);
  arrival.request.sampling.seed = *rc::gen::inRange<uint64_t>(0, 4);
  if (*rc::gen::inRange(0, 3) == 0) use_samplers_with_memory(arrival.request.sampling);
  arrival.request.priority = *rc::gen::inRange(0, 3);
  arrival.request.tenant = *rc::gen::inRange<uint64_t>(0, 3);
  arrival.request.cache_salt = *rc::gen::inRange<uint64_t>(0, 2);
  arrival.request.prompt_logprobs = arrival.request.logprobs = *rc::gen::inRange(0, 6) == 0;
  if (*rc::gen::arbitrary<bool>()) {
    arrival.request.adapter = *rc::gen::element(kAdapterNames[0], kAdapterNames[1]);
    arrival.request.adapter_scale = *rc::gen::element(1.0f, 0.5f);
  }
  arrival.at_step = *rc::gen::inRange(0u, 30u);
  if (*rc::gen::inRange(0, 4) == 0) arrival.cancel_at_step = *rc::gen::inRange(0u, 60u);
  return arrival;
}

// The next turn of a chat: the question and answer so far, and some more.
inline void go_on_from(const Arrival& earlier, uint32_t n_vocab, bool decode_matches_prefill, Layers layers,
                       Arrival& arrival) {
  std::vector<TokenId> text = earlier.request.prompt;
  const auto answer = tokens_alone(earlier.request, n_vocab, decode_matches_prefill, layers);
  text.insert(text.end(), answer.begin(), answer.end());
  text.push_back(TokenId{0});
  if (text.size() > kContext) return;
  arrival.request.prompt = text;
  arrival.request.cache_salt = earlier.request.cache_salt;
  arrival.request.adapter = earlier.request.adapter;
  arrival.request.adapter_scale = earlier.request.adapter_scale;
}

inline engine::EngineOptions make_options() {
  engine::EngineOptions options;
  options.max_seqs = *rc::gen::inRange(1u, 7u);
  options.max_batch_tokens = options.max_seqs + *rc::gen::inRange(0u, 40u);
  options.max_prefill_tokens = *rc::gen::inRange(0u, 9u);
  options.block_tokens = *rc::gen::inRange(1u, 9u);
  options.kv_tokens = *rc::gen::inRange(1u, 3 * kContext);
  options.n_draft = *rc::gen::inRange(0u, 5u);
  options.n_kept_states = *rc::gen::inRange(0u, 12u);
  options.host_kv_bytes = *rc::gen::element(0u, 100u, 1000u, 100000u);
  options.priority_scope = *rc::gen::element(engine::PriorityScope::kTenant, engine::PriorityScope::kAll);
  return options;
}

inline void check_blocks(const engine::Engine& engine, uint32_t max_rows) {
  const kv::BlockPool& pool = engine.prefixes().blocks();
  RC_ASSERT(pool.is_consistent());
  std::map<uint32_t, uint32_t> n_holders;
  for (const auto sequences : {engine.running(), engine.idle_sequence()}) {
    for (const engine::SequencePtr& sequence : sequences) {
      RC_ASSERT(sequence->cache.table().size() * pool.block_tokens() >= sequence->n_computed());
      for (uint32_t group = 0; group < pool.n_groups(); ++group) {
        RC_ASSERT(sequence->cache.held(group).size() <=
                  kv::max_blocks_held(pool.window(group), kContext, max_rows, pool.block_tokens()));
        for (const BlockId block : sequence->cache.held(group)) ++n_holders[to_index(block)];
      }
    }
  }
  for (uint32_t block = 0; block < pool.n_blocks(); ++block) {
    RC_ASSERT(pool.n_holders(BlockId{block}) == n_holders[block]);
  }
  if (engine.prefixes().states() == nullptr) return;
  RC_ASSERT(engine.prefixes().states()->is_consistent());
  const uint32_t n_held = engine.prefixes().states()->n_blocks() - engine.prefixes().states()->n_free();
  RC_ASSERT(n_held <= kv::kMaxStatesHeld * (engine.running().size() + engine.idle_sequence().size()));
}

inline void run_schedule(Rig& rig, std::vector<Arrival>& arrivals, std::vector<Recorder>& recorders) {
  engine::Engine& engine = rig.engine();
  const auto is_pending = [](uint32_t step) { return [step](const Arrival& a) { return a.at_step >= step; }; };
  for (uint32_t step = 0; !engine.is_idle() || std::ranges::any_of(arrivals, is_pending(step)); ++step) {
    RC_ASSERT(step < 20000u);
    for (size_t i = 0; i < arrivals.size(); ++i) {
      if (arrivals[i].at_step == step) engine.submit(std::move(*engine.prepare(arrivals[i].request, recorders[i])));
      if (arrivals[i].cancel_at_step == step) recorders[i].cancelled = true;
    }
    RC_ASSERT(engine.step().ok());
    check_blocks(engine, rig.max_rows());
    if (!engine.has_idle_work()) continue;
    RC_ASSERT(engine.idle_step().ok());
    check_blocks(engine, rig.max_rows());
  }
  engine.cancel_all();
}

}  // namespace realizar::testing
