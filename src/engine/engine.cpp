#include "engine/engine.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>

#include "base/caught.h"
#include "base/check.h"
#include "base/counter.h"
#include "engine/idle_steps.h"
#include "engine/prefix_file.h"
#include "model/fingerprint.h"
#include "sampling/finite.h"

namespace realizar {
namespace {

// Logit rows a step beside those of decoding sequences: where a whole text is scored or pooled.
constexpr uint32_t kScoredRows = 64;

// Positions are 32-bit signed, and one more token than positions is kept.
constexpr uint32_t kMaxContext = 1u << 30;
constexpr uint32_t kMaxDraft = 64;

// One sequence of the whole context always fits, so that something can always run.
uint32_t n_blocks_for(const EngineOptions& options) {
  const auto blocks_of = [&](uint64_t n_tokens) {
    return (n_tokens + options.block_tokens - 1) / options.block_tokens;
  };
  const uint64_t of_a_sequence = blocks_of(options.n_ctx);
  const uint64_t wanted = options.kv_tokens > 0 ? blocks_of(options.kv_tokens) : of_a_sequence * options.max_seqs;
  return static_cast<uint32_t>(std::max(wanted, of_a_sequence));
}

// Of the store for cached prefixes; the backend's cache must have been made.
uint32_t n_places_for(const EngineOptions& options, const Backend& backend) {
  if (options.host_kv_bytes == 0) return 0;
  return static_cast<uint32_t>(
      std::min<uint64_t>(options.host_kv_bytes / std::max<size_t>(1, backend.block_bytes()), uint64_t{1} << 20));
}

// Copies what a request gives into a Generation.
class GenerationSink final : public RequestSink {
 public:
  explicit GenerationSink(const TokenCallback& on_token) : on_token_(on_token) {}

  bool on_token(const TokenEvent& event) override { return !on_token_ || on_token_(event); }
  void on_end(const Ending& ending) noexcept override {
    status_ = caught([&] {
      generation_.tokens.assign(ending.tokens.begin(), ending.tokens.end());
      generation_.embedding.assign(ending.embedding.begin(), ending.embedding.end());
      if (ending.operations != nullptr) generation_.trace = ending.operations->trace();
      return ending.error != nullptr ? Status(*ending.error) : Status();
    });
    generation_.finish_reason = ending.reason;
    generation_.stop_token = ending.stop_token;
    generation_.stats = ending.stats;
  }
  Result<Generation> take() {
    if (!status_.ok()) return status_.error();
    return std::move(generation_);
  }

 private:
  const TokenCallback& on_token_;
  Generation generation_;
  Status status_;
};

// One of several requests, that tells its end at once.
class EachSink final : public RequestSink {
 public:
  using OnToken = std::function<bool(size_t, const TokenEvent&)>;
  using OnEnd = std::function<void(size_t, Result<Generation>)>;
  EachSink(size_t idx, const OnToken& on_token, const OnEnd& on_end)
      : idx_(idx), on_token_(on_token), on_end_(on_end) {}

  bool on_token(const TokenEvent& event) override { return !on_token_ || on_token_(idx_, event); }
  void on_end(const Ending& ending) noexcept override {
    const TokenCallback no_callback;
    GenerationSink sink(no_callback);
    sink.on_end(ending);
    static_cast<void>(caught([&] { on_end_(idx_, sink.take()); }));
  }

 private:
  size_t idx_;
  const OnToken& on_token_;
  const OnEnd& on_end_;
};

// Keeps all logits that it is given.
class LogitsSink final : public RequestSink {
 public:
  explicit LogitsSink(size_t n_logits) : n_logits_(n_logits) { logits_.reserve(n_logits); }
  // To be called with the last of them, when the sequence's cache is still there.
  void at_last(std::function<void()> call) { at_last_ = std::move(call); }

  bool on_token(const TokenEvent&) override { return true; }
  void on_logits(std::span<const float> logits) override {
    logits_.insert(logits_.end(), logits.begin(), logits.end());
    if (at_last_ && logits_.size() == n_logits_) at_last_();
  }
  void on_end(const Ending& ending) noexcept override {
    status_ = caught([&] { return ending.error != nullptr ? Status(*ending.error) : Status(); });
  }
  Result<std::vector<float>> take() {
    if (!status_.ok()) return status_.error();
    if (logits_.size() < n_logits_) return Error{ErrorCode::kCancelled, "the computation was cancelled", ""};
    return std::move(logits_);
  }

 private:
  std::vector<float> logits_;
  size_t n_logits_;
  std::function<void()> at_last_;
  Status status_;
};

Error in_prompt(size_t idx, Error error) {
  error.message = fmt::format("prompt[{}]: {}", idx, error.message);
  return error;
}

}  // namespace

const char* to_string(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kContext:
      return "context";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kDeadline:
      return "deadline";
    case FinishReason::kError:
      return "error";
  }
  return "stop";
}

BackendLimits Engine::limits_for(const EngineOptions& options) {
  BackendLimits limits;
  const uint64_t most_rows = uint64_t{options.n_ctx} * options.max_seqs;
  limits.max_rows = static_cast<uint32_t>(std::min<uint64_t>(options.max_batch_tokens, most_rows));
  const uint32_t decode_rows = options.max_seqs * (1 + options.n_draft);
  limits.max_logit_rows = std::min(std::max(kScoredRows, decode_rows + 1), limits.max_rows);
  limits.max_seqs = options.max_seqs;
  limits.max_context = options.n_ctx;
  return limits;
}

Result<std::unique_ptr<Engine>> Engine::create(const Model& model, Backend& backend, std::vector<TokenId> end_tokens,
                                               const EngineOptions& options) {
  const ModelConfig& c = model.config();
  if (options.n_ctx < 1 || options.n_ctx > kMaxContext) {
    return invalid_argument(fmt::format("ctx: expected 1 to {}, actual {}", kMaxContext, options.n_ctx), "ctx");
  }
  if (c.learned_positions && options.n_ctx > c.n_ctx_train) {
    return invalid_argument(
        fmt::format("ctx: expected at most {}, for which the model has learned positions, actual {}", c.n_ctx_train,
                    options.n_ctx),
        "ctx");
  }
  if (options.max_seqs < 1 || options.max_batch_tokens < options.max_seqs) {
    return invalid_argument(fmt::format("batch tokens: expected at least {}, a token for each sequence, actual {}",
                                        options.max_seqs, options.max_batch_tokens),
                            "batch_tokens");
  }
  if (options.n_draft > kMaxDraft) {
    return invalid_argument(fmt::format("draft tokens: expected at most {}, actual {}", kMaxDraft, options.n_draft),
                            "n_draft");
  }
  KvLayout layout;
  layout.n_layers = c.n_layers;
  layout.n_kv_heads = attention_of(c).n_kv_heads;
  layout.head_dim = attention_of(c).head_dim;
  layout.block_tokens = options.block_tokens;
  layout.n_blocks = n_blocks_for(options);
  layout.type = options.kv_type;
  RZ_CHECK_OK(backend.create_kv_cache(layout));
  std::unique_ptr<Engine> engine(new Engine(model, backend, std::move(end_tokens), options));
  RZ_CHECK_OK(engine->compile(model));
  return engine;
}

Status Engine::compile(const Model& model) {
  const Forward forward = build_forward(model.config(), model.weights());
  RZ_TRY(forward_, backend_.compile(forward.program));
  hidden_ = forward.hidden;
  logits_ = forward.logits;
  publish_counters();
  return {};
}

Engine::Engine(const Model& model, Backend& backend, std::vector<TokenId> end_tokens, const EngineOptions& options)
    : config_(model.config()),
      backend_(backend),
      end_tokens_(std::move(end_tokens)),
      options_(options),
      phases_agree_(backend.info().phases_agree),
      host_blocks_(backend, n_places_for(options, backend), counters_),
      pool_(n_blocks_for(options), options.block_tokens, random_hash_key(), &host_blocks_,
            n_places_for(options, backend)),
      sampler_(model.config().n_vocab),
      batch_builder_(limits_for(options).max_rows, options.max_seqs),
      choice_builder_(backend, options.choose_on_host ? 0 : limits_for(options).max_logit_rows, model.config().n_vocab),
      budget_(limits_for(options).max_rows),
      allowed_((model.config().n_vocab + 63) / 64) {
  plan_.reserve(options.max_seqs);
  max_drafts_.reserve(options.max_seqs);
  running_.reserve(options.max_seqs);
  counters_.n_blocks = pool_.n_blocks();
}

Status Engine::warm_up() {
  REQUIRE(is_idle());
  forget_prefixes();
  RZ_CHECK_OK(run_idle_steps(backend_, forward_,
                             {limits_for(options_), options_.n_ctx, options_.block_tokens, pool_.n_blocks(), true}));
  return drafter_ != nullptr ? drafter_->warm_up() : Status{};
}

Status Engine::check_tokens(std::span<const TokenId> tokens) const {
  if (tokens.empty()) return invalid_argument("the prompt is empty", "prompt");
  for (const TokenId id : tokens) {
    if (to_index(id) < 0 || static_cast<uint32_t>(to_index(id)) >= config_.n_vocab) {
      return invalid_argument(
          fmt::format("prompt: expected token ids below {}, actual {}", config_.n_vocab, to_index(id)), "prompt");
    }
  }
  if (tokens.size() > options_.n_ctx) {
    return context_length_exceeded(
        fmt::format("the prompt has {} tokens, the context {}", tokens.size(), options_.n_ctx), "prompt", tokens.size(),
        options_.n_ctx);
  }
  return {};
}

Status Engine::check(const Request& request) const {
  RZ_CHECK_OK(check_tokens(request.prompt));
  if (request.n_logprobs > config_.n_vocab) {
    return invalid_argument(
        fmt::format("n_logprobs: expected at most {}, actual {}", config_.n_vocab, request.n_logprobs), "n_logprobs");
  }
  return validate(request.sampling, config_.n_vocab);
}

Result<SequencePtr> Engine::prepare(const Request& request, RequestSink& sink) {
  RZ_CHECK_OK(check(request));
  auto sequence = std::make_unique<Sequence>();
  sequence->request = &request;
  sequence->sink = &sink;
  sequence->arrived = Sequence::Clock::now();
  if (request.timeout_ms) sequence->deadline = sequence->arrived + std::chrono::milliseconds(*request.timeout_ms);
  sequence->n_prompt = static_cast<uint32_t>(request.prompt.size());
  sequence->ending.stats.n_prompt = sequence->n_prompt;
  const uint32_t n_room = options_.n_ctx - sequence->n_prompt;
  if (request.pooling == Pooling::kNone) sequence->n_wanted = std::min(request.max_tokens.value_or(n_room), n_room);
  const bool wants_all = request.pooling == Pooling::kMean || request.prompt_logprobs;
  const bool wants_last = request.pooling != Pooling::kNone || sequence->n_wanted > 0;
  sequence->first_wanted = wants_all ? 0 : sequence->n_prompt - (wants_last ? 1 : 0);
  sequence->tokens.reserve(size_t{sequence->n_prompt} + sequence->n_wanted);
  sequence->tokens.assign(request.prompt.begin(), request.prompt.end());
  sequence->drafts.reserve(options_.n_draft);
  sequence->cache = SequenceCache(pool_, request.cache_salt, request.tenant, sequence->n_prompt + sequence->n_wanted);
  if (request.trace) sequence->operations = std::make_unique<OpTable>();
  if (request.pooling != Pooling::kNone) sequence->embedding.assign(config_.d_model, 0.0f);
  return sequence;
}

// Everything that the bytes of a block depend on.
uint64_t Engine::fingerprint(uint64_t source) const {
  const std::string text = fmt::format("{} {} {} {}", source, hash_of(config_), backend_.info().arithmetic,
                                       static_cast<int>(options_.kv_type));
  return XXH3_64bits(text.data(), text.size());
}

Result<uint32_t> Engine::save_cache(const std::string& path, uint64_t source, uint64_t max_bytes) const {
  return save_prefixes(path, pool_, backend_, fingerprint(source), max_bytes);
}

uint32_t Engine::load_cache(const std::string& path, uint64_t source) {
  return load_prefixes(path, pool_, backend_, fingerprint(source));
}

// No step waits long behind a slice.
bool Engine::wipe_some() {
  constexpr size_t kSliceBytes = size_t{64} << 20;
  const auto max_blocks = static_cast<uint32_t>(kSliceBytes / std::max<size_t>(1, backend_.block_bytes()) + 1);
  const bool is_done = pool_.wipe_nameless(
      max_blocks, [this](BlockId id) { backend_.zero_block(id); },
      [this](uint32_t place) { host_blocks_.wipe(place); });
  return is_done && (drafter_ == nullptr || drafter_->wipe_some(max_blocks));
}

// Nobody listens to what is left after an error.
Status Engine::run_until_idle() {
  Status status;
  while (status.ok() && !is_idle()) status = step();
  if (!status.ok()) end_all(FinishReason::kError, &status.error());
  return status;
}

Result<Generation> Engine::generate(const Request& request, const TokenCallback& on_token) {
  cancelled_ = false;
  GenerationSink sink(on_token);
  RZ_TRY(SequencePtr sequence, prepare(request, sink));
  submit(std::move(sequence));
  RZ_CHECK_OK(run_until_idle());
  return sink.take();
}

Result<std::vector<Generation>> Engine::generate_all(std::span<const Request> requests) {
  cancelled_ = false;
  const TokenCallback no_callback;
  std::vector<GenerationSink> sinks(requests.size(), GenerationSink(no_callback));
  std::vector<SequencePtr> sequences;
  for (size_t i = 0; i < requests.size(); ++i) {
    Result<SequencePtr> sequence = prepare(requests[i], sinks[i]);
    if (!sequence.ok()) return in_prompt(i, std::move(sequence).error());
    sequences.push_back(std::move(*sequence));
  }
  for (SequencePtr& sequence : sequences) submit(std::move(sequence));
  RZ_CHECK_OK(run_until_idle());
  std::vector<Generation> generations;
  for (size_t i = 0; i < sinks.size(); ++i) {
    Result<Generation> generation = sinks[i].take();
    if (!generation.ok()) return in_prompt(i, std::move(generation).error());
    generations.push_back(std::move(*generation));
  }
  return generations;
}

// A failed step has ended those that ran, each with the error; the next ones may fare better.
void Engine::generate_each(std::span<const Request> requests, const EachSink::OnToken& on_token,
                           const EachSink::OnEnd& on_end) {
  cancelled_ = false;
  std::vector<EachSink> sinks;
  for (size_t i = 0; i < requests.size(); ++i) sinks.emplace_back(i, on_token, on_end);
  for (size_t next = 0; next < requests.size() || !is_idle();) {
    while (next < requests.size() && waiting_.size() < options_.max_seqs) {
      Result<SequencePtr> sequence = prepare(requests[next], sinks[next]);
      if (sequence.ok()) {
        submit(std::move(*sequence));
      } else {
        on_end(next, std::move(sequence).error());
      }
      ++next;
    }
    static_cast<void>(step());
  }
}

// What the cache holds of the positions that are computed.
KvNumbers Engine::read_kv(const Sequence& sequence) const {
  const uint32_t bt = pool_.block_tokens();
  const size_t n_cols = size_t{attention_of(config_).n_kv_heads} * attention_of(config_).head_dim;
  KvNumbers kv;
  std::vector<float> keys(bt * n_cols), values(bt * n_cols);
  for (uint32_t layer = 0; layer < config_.n_layers; ++layer) {
    for (uint32_t pos = 0; pos < sequence.n_computed(); pos += bt) {
      backend_.read_kv(layer, sequence.cache.blocks()[pos / bt], keys, values);
      const auto end = static_cast<std::ptrdiff_t>(std::min(bt, sequence.n_computed() - pos) * n_cols);
      kv.keys.insert(kv.keys.end(), keys.begin(), keys.begin() + end);
      kv.values.insert(kv.values.end(), values.begin(), values.begin() + end);
    }
  }
  return kv;
}

Result<std::vector<float>> Engine::logits(std::span<const TokenId> tokens, uint32_t n_prompt, uint32_t n_last,
                                          KvNumbers* kv) {
  RZ_CHECK_OK(check_tokens(tokens));
  const auto n_tokens = static_cast<uint32_t>(tokens.size());
  if (n_prompt < 1 || n_prompt > n_tokens || n_last < 1 || n_last > n_tokens) {
    return invalid_argument(
        fmt::format("expected 1 to {} for the prompt's tokens and for the positions asked for, "
                    "actual {} and {}",
                    n_tokens, n_prompt, n_last));
  }
  cancelled_ = false;
  Request request;
  request.prompt.assign(tokens.begin(), tokens.end());
  request.max_tokens = 0;
  LogitsSink sink(size_t{n_last} * config_.n_vocab);
  RZ_TRY(SequencePtr sequence, prepare(request, sink));
  sequence->n_prompt = n_prompt;
  sequence->first_wanted = n_tokens - n_last;
  sequence->wants_logits = true;
  if (kv != nullptr) sink.at_last([this, kv, own = sequence.get()] { *kv = read_kv(*own); });
  submit(std::move(sequence));
  RZ_CHECK_OK(run_until_idle());
  return sink.take();
}

}  // namespace realizar
