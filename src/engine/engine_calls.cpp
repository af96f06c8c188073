// Calls of the engine that run requests to their end.
#include <fmt/format.h>

#include "backend/backend.h"
#include "base/caught.h"
#include "base/try.h"
#include "engine/admission.h"
#include "engine/engine.h"
#include "engine/prefixes.h"
#include "engine/sequence.h"
#include "model/model_config.h"

namespace realizar::engine {
namespace {

// Copies a request's tokens and end into a Generation.
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

// The sink of one of several requests, which reports its end at once.
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

// Keeps all logits.
class LogitsSink final : public RequestSink {
 public:
  using OnRows = std::function<void(const Sequence& sequence, uint32_t n_rows)>;
  void expect(size_t n_logits, OnRows on_rows) {
    n_logits_ = n_logits;
    logits_.reserve(n_logits);
    on_rows_ = std::move(on_rows);
  }

  bool on_token(const TokenEvent&) override { return true; }
  void on_logits(std::span<const float> logits) override {
    logits_.insert(logits_.end(), logits.begin(), logits.end());
  }
  void on_rows(const Sequence& sequence, uint32_t n_rows) override { on_rows_(sequence, n_rows); }
  void on_end(const Ending& ending) noexcept override {
    is_over_ = true;
    status_ = caught([&] { return ending.error != nullptr ? Status(*ending.error) : Status(); });
  }
  bool is_over() const { return is_over_; }
  Result<std::vector<float>> take() {
    if (!status_.ok()) return status_.error();
    if (logits_.size() < n_logits_) return Error{ErrorCode::kCancelled, "the computation was cancelled", ""};
    return std::move(logits_);
  }

 private:
  std::vector<float> logits_;
  size_t n_logits_ = 0;
  bool is_over_ = false;
  OnRows on_rows_;
  Status status_;
};

Error in_prompt(size_t idx, Error error) {
  error.message = fmt::format("prompt[{}]: {}", idx, error.message);
  return error;
}

}  // namespace

// After an error nobody needs the rest.
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

// A failed step has ended the running requests, each with the error; the next ones may succeed.
void Engine::generate_each(std::span<const Request> requests, const EachSink::OnToken& on_token,
                           const EachSink::OnEnd& on_end) {
  cancelled_ = false;
  std::vector<EachSink> sinks;
  for (size_t i = 0; i < requests.size(); ++i) sinks.emplace_back(i, on_token, on_end);
  for (size_t next = 0; next < requests.size() || !is_idle();) {
    while (next < requests.size() && admission_->n_waiting() < options_.max_seqs) {
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

// Each layer must store one array of keys for each position and one of values of the same size. Errors: Unsupported.
Status check_kv_fits(const ModelConfig& config, uint32_t n_ctx) {
  const HeadSizes heads = heads_of(config);
  bool is_kept = false;
  for (const StateLayout& layout : state_layouts(config, n_ctx)) {
    const auto* own = std::get_if<Paged>(&layout);
    if (own == nullptr) continue;
    is_kept = true;
    if (own->v_dim == 0) return unsupported("the layers of this model keep latent rows instead of keys and values");
    if (own->n_kv_heads != heads.n_kv_heads || own->k_dim != heads.key_dim || own->v_dim != heads.key_dim) {
      return unsupported(
          "the layers of this model keep keys and values of different widths, which do not fit one array");
    }
  }
  return is_kept ? Status() : unsupported("no layer of this model keeps keys and values");
}

// Adds the cache's content for the next n_rows positions. A window may release them as soon as they are committed.
void Engine::read_kv(const Sequence& sequence, uint32_t n_rows, KvNumbers& kv) const {
  const uint32_t bt = prefixes_->blocks().block_tokens(), end = sequence.n_computed() + n_rows;
  const HeadSizes heads = heads_of(config_);
  const auto layouts = state_layouts(config_, options_.n_ctx);
  const size_t n_cols = size_t{heads.n_kv_heads} * heads.key_dim, n_tokens = sequence.tokens.size();
  kv.keys.resize(config_.n_layers * n_tokens * n_cols);
  kv.values.resize(config_.n_layers * n_tokens * n_cols);
  std::vector<float> keys(bt * n_cols), values(bt * n_cols);
  for (uint32_t layer = 0; layer < config_.n_layers; ++layer) {
    if (!std::holds_alternative<Paged>(layouts[layer])) continue;  // its entries stay zero
    const auto blocks = sequence.cache.table(prefixes_->groups().places[layer].group);
    for (uint32_t pos = sequence.n_computed(); pos < end; pos = (pos / bt + 1) * bt) {
      backend_.read_kv(layer, blocks[pos / bt], keys, values);
      const size_t from = pos % bt, n = std::min(end, (pos / bt + 1) * bt) - pos, to = layer * n_tokens + pos;
      std::copy_n(keys.data() + from * n_cols, n * n_cols, kv.keys.data() + to * n_cols);
      std::copy_n(values.data() + from * n_cols, n * n_cols, kv.values.data() + to * n_cols);
    }
  }
}

Result<std::vector<float>> Engine::logits(std::span<const TokenId> tokens, uint32_t n_prompt, uint32_t n_last,
                                          KvNumbers* kv) {
  cancelled_ = false;
  Request request;
  request.prompt.assign(tokens.begin(), tokens.end());
  request.max_tokens = 0;
  LogitsSink sink;
  RZ_TRY(SequencePtr sequence, prepare(request, sink));
  const uint32_t n_tokens = sequence->n_prompt;
  if (n_prompt < 1 || n_prompt > n_tokens || n_last < 1 || n_last > n_tokens) {
    return invalid_argument(
        fmt::format("expected 1 to {} for the prompt's tokens and for the positions asked for, "
                    "actual {} and {}",
                    n_tokens, n_prompt, n_last));
  }
  if (kv != nullptr) RZ_CHECK_OK(check_kv_fits(config_, options_.n_ctx));
  sequence->n_prompt = n_prompt;
  sequence->first_wanted = n_tokens - n_last;
  sequence->wants_logits = true;
  sink.expect(size_t{n_last} * config_.n_vocab, [this, kv](const Sequence& own, uint32_t n_rows) {
    if (kv != nullptr) read_kv(own, n_rows, *kv);
  });
  submit(std::move(sequence));
  // Other requests may run, and continue in the meantime.
  Status status;
  while (status.ok() && !sink.is_over()) status = step();
  if (!sink.is_over()) end_all(FinishReason::kError, &status.error());
  return sink.take();
}

}  // namespace realizar::engine
