#include "engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace realizar {
namespace {

using Clock = std::chrono::steady_clock;

// Logit rows a step: one a sequence while generating; more only when a whole text is scored.
constexpr uint32_t kMaxLogitRows = 64;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Positions are 32-bit signed, and one more token than positions is kept.
constexpr uint32_t kMaxContext = 1u << 30;

uint32_t n_blocks_for(const EngineOptions& options) {
  return (options.n_ctx + options.block_tokens - 1) / options.block_tokens * options.max_seqs;
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
  }
  return "stop";
}

BackendLimits Engine::limits_for(const EngineOptions& options) {
  BackendLimits limits;
  const uint64_t most_rows = uint64_t{options.n_ctx} * options.max_seqs;
  limits.max_rows = static_cast<uint32_t>(std::min<uint64_t>(options.max_batch_tokens, most_rows));
  limits.max_logit_rows = std::min(std::max(kMaxLogitRows, options.max_seqs), limits.max_rows);
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
  KvLayout layout;
  layout.n_layers = c.n_layers;
  layout.n_kv_heads = c.n_kv_heads;
  layout.head_dim = c.head_dim;
  layout.block_tokens = options.block_tokens;
  layout.n_blocks = n_blocks_for(options);
  layout.type = options.kv_type;
  RZ_CHECK_OK(backend.create_kv_cache(layout));
  RZ_TRY(Decoder decoder, Decoder::create(model, backend));
  return std::unique_ptr<Engine>(new Engine(model, decoder, std::move(end_tokens), options));
}

Engine::Engine(const Model& model, const Decoder& decoder, std::vector<TokenId> end_tokens,
               const EngineOptions& options)
    : config_(model.config()),
      decoder_(decoder),
      end_tokens_(std::move(end_tokens)),
      options_(options),
      pool_(n_blocks_for(options), options.block_tokens, 0),
      sampler_(model.config().n_vocab),
      batch_builder_(limits_for(options).max_rows, options.max_seqs),
      sequences_(options.max_seqs) {
  plan_.reserve(sequences_.size());
  for (Sequence& sequence : sequences_) {
    sequence.tokens.reserve(options.n_ctx + 1);
    sequence.blocks.reserve(pool_.n_blocks());
  }
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
    return Error{ErrorCode::kContextLengthExceeded,
                 fmt::format("the prompt has {} tokens, the context {}", tokens.size(), options_.n_ctx), "prompt"};
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

Result<Generation> Engine::generate(const Request& request, const TokenCallback& on_token) {
  Generation generation;
  RZ_CHECK_OK(run({&request, 1}, {&generation, 1}, on_token));
  return generation;
}

Result<std::vector<Generation>> Engine::generate_all(std::span<const Request> requests) {
  if (requests.size() > options_.max_seqs) {
    return invalid_argument(
        fmt::format("expected at most {} requests at once, actual {}", options_.max_seqs, requests.size()), "requests");
  }
  std::vector<Generation> generations(requests.size());
  RZ_CHECK_OK(run(requests, generations, {}));
  return generations;
}

Status Engine::run(std::span<const Request> requests, std::span<Generation> generations,
                   const TokenCallback& on_token) {
  cancelled_ = false;
  for (const Request& request : requests) RZ_CHECK_OK(check(request));
  Status status;
  for (size_t i = 0; i < requests.size() && status.ok(); ++i) status = begin(requests[i], generations[i]);
  while (status.ok() && n_running_ > 0) {
    status = step();
    if (status.ok()) take_tokens(on_token);
    if (cancelled_.load(std::memory_order_relaxed)) {
      for (Sequence& sequence : running()) finish(sequence, FinishReason::kCancelled);
    }
    remove_finished();
  }
  for (Sequence& sequence : running()) release_blocks(sequence);
  n_running_ = 0;
  return status;
}

// Takes a sequence into those that run, if there is anything to generate.
Status Engine::begin(const Request& request, Generation& generation) {
  generation = {};
  generation.finish_reason = FinishReason::kLength;
  generation.stats.n_prompt = static_cast<uint32_t>(request.prompt.size());
  const uint32_t n_room = options_.n_ctx - generation.stats.n_prompt + 1;  // the last token needs no place in the cache
  const uint32_t n_wanted = std::min(request.max_tokens.value_or(n_room), n_room);
  if (n_wanted == 0) return {};
  Sequence& sequence = sequences_[n_running_++];
  sequence.id = SeqId{++n_sequences_};
  sequence.request = &request;
  sequence.generation = &generation;
  sequence.n_wanted = n_wanted;
  sequence.started = Clock::now();
  sequence.tokens.assign(request.prompt.begin(), request.prompt.end());
  sequence.blocks.clear();
  sequence.n_prompt = generation.stats.n_prompt;
  find_cached_prefix(sequence);
  generation.stats.n_cached = sequence.n_cached;
  generation.stats.prefix_lookup_ms = ms_since(sequence.started);
  return ensure_blocks(sequence, sequence.n_prompt);
}

// At least the last prompt token is computed, since its logits are needed.
void Engine::find_cached_prefix(Sequence& sequence) {
  const uint32_t max_blocks = (sequence.n_prompt - 1) / pool_.block_tokens();
  pool_.find_prefix(sequence.tokens, max_blocks, sequence.blocks);
  sequence.n_named = static_cast<uint32_t>(sequence.blocks.size());
  sequence.n_cached = sequence.n_named * pool_.block_tokens();
  sequence.n_computed = sequence.n_cached;
}

Status Engine::ensure_blocks(Sequence& sequence, uint32_t n_positions) {
  while (sequence.blocks.size() * size_t{pool_.block_tokens()} < n_positions) {
    const auto block = pool_.allocate();
    if (!block) {
      return Error{ErrorCode::kResourceExhausted, fmt::format("all {} KV blocks are in use", pool_.n_blocks()), ""};
    }
    sequence.blocks.push_back(*block);
  }
  return {};
}

// Only blocks that the prefill arithmetic filled may stand for a later prompt's.
void Engine::name_prompt_blocks(Sequence& sequence) {
  const uint32_t n_full = std::min(sequence.n_computed, sequence.n_prompt) / pool_.block_tokens();
  pool_.name_blocks(sequence.blocks, sequence.tokens, sequence.n_named, n_full);
  sequence.n_named = n_full;
}

// Last block first, so that the beginning of a prompt stays findable longest.
void Engine::release_blocks(Sequence& sequence) {
  for (size_t i = sequence.blocks.size(); i-- > 0;) pool_.release(sequence.blocks[i]);
  sequence.blocks.clear();
}

Status Engine::run_step(const StepBatch& batch) {
  decoder_.encode(batch);
  RZ_CHECK_OK(decoder_.wait());
  if (observer_) observer_();
  return {};
}

Status Engine::step() {
  plan_step(running(), limits_for(options_).max_rows, plan_);
  for (const PlannedChunk& chunk : plan_) {
    Sequence& sequence = sequences_[chunk.seq_idx];
    RZ_CHECK_OK(ensure_blocks(sequence, sequence.n_computed + chunk.n_tokens));
  }
  RZ_CHECK_OK(run_step(batch_builder_.build(running(), plan_)));
  for (const PlannedChunk& chunk : plan_) {
    Sequence& sequence = sequences_[chunk.seq_idx];
    sequence.n_computed += chunk.n_tokens;
    if (!chunk.is_decode && chunk.wants_logits) name_prompt_blocks(sequence);
  }
  return {};
}

// Logits come in the order of the plan.
void Engine::take_tokens(const TokenCallback& on_token) {
  const std::span<const float> logits = decoder_.logits();
  size_t row = 0;
  for (const PlannedChunk& chunk : plan_) {
    if (!chunk.wants_logits) continue;
    take_token(sequences_[chunk.seq_idx], logits.subspan(config_.n_vocab * row++, config_.n_vocab), on_token);
  }
}

void Engine::take_token(Sequence& sequence, std::span<const float> logits, const TokenCallback& on_token) {
  const Request& request = *sequence.request;
  const TokenId id = sampler_.sample(request.sampling, logits, sequence.tokens);
  GenerationStats& stats = sequence.generation->stats;
  if (sequence.n_generated() == 0) {
    sequence.decode_started = Clock::now();
    stats.first_token_ms = ms_since(sequence.started);
    stats.prefill_ms = stats.first_token_ms - stats.prefix_lookup_ms;
  }
  if (is_stop(request, id)) {
    sequence.generation->stop_token = id;
    return finish(sequence, FinishReason::kStop);
  }
  sequence.tokens.push_back(id);
  if (!report(sequence, logits, on_token)) return finish(sequence, FinishReason::kCancelled);
  if (sequence.n_generated() < sequence.n_wanted || cancelled_.load(std::memory_order_relaxed)) return;
  const bool was_asked = request.max_tokens && *request.max_tokens == sequence.n_wanted;
  finish(sequence, was_asked ? FinishReason::kLength : FinishReason::kContext);
}

void Engine::finish(Sequence& sequence, FinishReason reason) {
  if (sequence.request == nullptr) return;  // it is already
  Generation& generation = *sequence.generation;
  generation.finish_reason = reason;
  generation.stats.n_generated = sequence.n_generated();
  if (sequence.decode_started >= sequence.started) generation.stats.decode_ms = ms_since(sequence.decode_started);
  generation.tokens.assign(sequence.tokens.begin() + sequence.n_prompt, sequence.tokens.end());
  release_blocks(sequence);
  sequence.request = nullptr;
}

// The others keep their order.
void Engine::remove_finished() {
  const auto is_finished = [](const Sequence& sequence) { return sequence.request == nullptr; };
  uint32_t n_left = 0;
  for (uint32_t i = 0; i < n_running_; ++i) {
    if (is_finished(sequences_[i])) continue;
    if (i != n_left) std::swap(sequences_[n_left], sequences_[i]);
    ++n_left;
  }
  n_running_ = n_left;
}

bool Engine::is_stop(const Request& request, TokenId id) const {
  const auto holds = [id](const std::vector<TokenId>& ids) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  };
  return holds(request.stop_tokens) || (!request.ignore_eos && holds(end_tokens_));
}

// The sequence's newest token; false where the caller wants no more.
bool Engine::report(const Sequence& sequence, std::span<const float> logits, const TokenCallback& on_token) {
  if (!on_token) return true;
  const Request& request = *sequence.request;
  TokenEvent event{sequence.tokens.back(), sequence.n_generated() - 1, std::nullopt, {}};
  if (request.logprobs) event.logprob = sampler_.logprob(logits, event.id);
  if (request.n_logprobs > 0) event.top = sampler_.top_logprobs(logits, request.n_logprobs);
  return on_token(event);
}

Result<std::vector<float>> Engine::logits(std::span<const TokenId> tokens, uint32_t n_prompt, uint32_t n_last) {
  RZ_CHECK_OK(check_tokens(tokens));
  const auto n_tokens = static_cast<uint32_t>(tokens.size());
  if (n_prompt < 1 || n_prompt > n_tokens || n_last < 1 || n_last > n_tokens) {
    return invalid_argument(
        fmt::format("expected 1 to {} for the prompt's tokens and for the positions asked for, "
                    "actual {} and {}",
                    n_tokens, n_prompt, n_last));
  }
  Sequence& sequence = sequences_.front();
  sequence.tokens.assign(tokens.begin(), tokens.end());
  sequence.blocks.clear();
  sequence.n_prompt = n_prompt;
  sequence.n_computed = 0;
  std::vector<float> all;
  all.reserve(size_t{n_last} * config_.n_vocab);
  Status status;
  while (status.ok() && sequence.n_computed < n_tokens) {
    const BackendLimits limits = limits_for(options_);
    const uint32_t first_wanted = n_tokens - n_last;
    PlannedChunk chunk{0, 1, sequence.is_decoding(), true};
    if (!chunk.is_decode) {
      const bool is_wanted = sequence.n_computed >= first_wanted;
      const uint32_t end = is_wanted ? n_prompt : std::min(n_prompt, first_wanted);
      chunk.n_tokens = std::min(end - sequence.n_computed, is_wanted ? limits.max_logit_rows : limits.max_rows);
    }
    const uint32_t n_rows = sequence.n_computed >= first_wanted ? chunk.n_tokens : 0;
    status = ensure_blocks(sequence, sequence.n_computed + chunk.n_tokens);
    if (status.ok()) status = run_step(batch_builder_.build_scored(sequence, chunk, n_rows));
    const auto rows = status.ok() ? decoder_.logits() : std::span<const float>();
    if (n_rows > 0) all.insert(all.end(), rows.begin(), rows.end());
    sequence.n_computed += chunk.n_tokens;
  }
  release_blocks(sequence);
  if (!status.ok()) return status.error();
  return all;
}

}  // namespace realizar
