#include "engine/engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/caught.h"
#include "base/check.h"
#include "base/try.h"
#include "engine/adapters.h"
#include "engine/admission.h"
#include "engine/cache_sizes.h"
#include "engine/idle_prefill.h"
#include "engine/idle_steps.h"
#include "engine/mask_turns.h"
#include "engine/model_drafter.h"
#include "engine/prefixes.h"
#include "engine/results.h"
#include "engine/step.h"
#include "model/adapter_program.h"
#include "model/forward.h"
#include "sampling/dry.h"

namespace realizar::engine {
namespace {

// Positions are 32-bit signed, and one more token than positions is kept.
constexpr uint32_t kMaxContext = 1u << 30;

SequenceLimits sequence_limits(const ModelConfig& config, const EngineOptions& options) {
  return {.n_ctx = options.n_ctx,
          .n_vocab = config.n_vocab,
          .d_model = config.d_model,
          .max_drafts = options.max_drafts(),
          .n_types = std::max(config.n_types, 1u),
          .n_labels = config.n_labels,
          .is_bidirectional = config.is_bidirectional};
}

// Prefixes computed with an adapter and a factor are never shared with others.
uint64_t adapted_salt(const Prefixes& prefixes, const Request& request, const AdapterHold& adapter) {
  return prefixes.salt_of(
      fmt::format("adapter {} {} {}", request.cache_salt, adapter.fingerprint(), adapter.in_batch().factor));
}

}  // namespace

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
  REQUIRE(options.max_seqs >= 1);
  if (options.max_batch_tokens < options.max_seqs) {
    return invalid_argument(fmt::format("max_batch_tokens: expected at least {}, one for each of max_seqs, actual {}",
                                        options.max_seqs, options.max_batch_tokens),
                            "max_batch_tokens");
  }
  if (options.n_draft > kMaxDraft) {
    return invalid_argument(fmt::format("n_draft: expected at most {}, actual {}", kMaxDraft, options.n_draft),
                            "n_draft");
  }
  REQUIRE(options.whole_prompts == c.is_bidirectional);
  RZ_CHECK_OK(backend.create_kv_cache(cache_layout_for(c, options)));
  const Forward forward = build_forward(c, model.weights());
  RZ_TRY(const ProgramId plain, backend.compile(forward.program));
  ForwardPrograms programs{plain, plain};
  if (model.adapter_targets().n_parts() > 0) {
    RZ_TRY(programs.adapted, backend.compile(with_adapters(forward.program, model.adapter_targets())));
  }
  return std::unique_ptr<Engine>(new Engine(model, backend, programs,
                                            {forward.hidden, forward.logits, n_outputs(c), c.is_bidirectional},
                                            std::move(end_tokens), options));
}

Engine::Engine(const Model& model, Backend& backend, const ForwardPrograms& forward, const ForwardOutputs& outputs,
               std::vector<TokenId> end_tokens, const EngineOptions& options)
    : config_(model.config()),
      backend_(backend),
      forward_(forward.plain),
      options_(options),
      adapters_(std::make_unique<Adapters>(model, backend)),
      prefixes_(std::make_unique<Prefixes>(config_, backend, options, counters_)),
      idle_prefill_(std::make_unique<IdlePrefill>(
          prefixes_->pools(), limits_for(options).max_rows,
          options.idle_prefill && !backend.info().decode_matches_prefill && !options.whole_prompts, counters_)),
      admission_(std::make_unique<Admission>(prefixes_->blocks(), *idle_prefill_, options,
                                             backend.info().decode_matches_prefill, counters_)),
      step_(std::make_unique<Step>(backend, forward, limits_for(options), outputs.n_vocab, options, counters_)),
      masks_(std::make_unique<MaskTurns>()),
      results_(std::make_unique<Results>(backend, outputs, std::move(end_tokens), options.n_ctx, *masks_, counters_)) {
  publish_counters();
}

Engine::~Engine() = default;

void Engine::set_drafter(ModelDrafter* drafter) {
  drafter_ = drafter;
  admission_->set_drafter(drafter);
  step_->set_drafter(drafter);
}

void Engine::set_step_observer(StepObserver observer) {
  step_->set_observer(std::move(observer));
}

Status Engine::warm_up() {
  REQUIRE(is_idle());
  forget_prefixes();
  if (options_.whole_prompts) return {};  // no decode rows
  RZ_CHECK_OK(run_idle_steps(
      backend_, forward_,
      {limits_for(options_), options_.n_ctx, options_.block_tokens, prefixes_->blocks().n_blocks(), true}));
  return drafter_ != nullptr ? drafter_->warm_up() : Status{};
}

Result<Engine::PrefixSalt> Engine::prefix_salt_of(const Request& request) {
  RZ_TRY(const AdapterHold adapter, adapters_->hold(request));
  if (!adapter) return PrefixSalt{request.cache_salt};
  return PrefixSalt{adapted_salt(*prefixes_, request, adapter), adapter.fingerprint(), adapter.in_batch().factor};
}

Result<SequencePtr> Engine::prepare(const Request& request, RequestSink& sink) {
  RZ_TRY(AdapterHold adapter, adapters_->hold(request));
  const uint64_t salt = adapter ? adapted_salt(*prefixes_, request, adapter) : request.cache_salt;
  RZ_TRY(SequencePtr sequence,
         make_sequence(request, sink, sequence_limits(config_, options_), prefixes_->pools(), salt));
  sequence->adapter = std::move(adapter);
  const bool wants_breakers = uses_dry(request.sampling) && request.sampling.dry_breakers == nullptr;
  if (wants_breakers && options_.make_breakers) sequence->sampler.breakers = options_.make_breakers();
  return sequence;
}

void Engine::set_max_open(uint32_t max_open) {
  admission_->set_max_open(max_open);
}

void Engine::submit(SequencePtr sequence) {
  idle_prefill_->pause();
  admission_->submit(std::move(sequence));
  publish_counters();
}

Status Engine::step() {
  const Status status = caught([&] { return try_step(); });
  if (!status.ok()) fail_step(status.error());
  publish_counters();
  return status;
}

Status Engine::try_step() {
  const auto start = Sequence::Clock::now();
  if (cancelled_.load(std::memory_order_relaxed)) cancel_all();
  admission_->update(start);
  if (masks_->prepare(admission_->running())) admission_->remove_ended();
  if (admission_->running().empty()) return {};
  RZ_CHECK_OK(step_->draft(admission_->running()));
  while (!step_->plan(admission_->running(), admission_->n_waiting())) admission_->preempt();
  if (step_->chunks().empty()) return {};  // all wait for their masks
  RZ_CHECK_OK(step_->run(admission_->running()));
  admission_->charge(step_->chunks());
  results_->take(admission_->running(), step_->chunks());
  step_->tell_operations(admission_->running());
  step_->observe(admission_->running(), elapsed_ms(start, Sequence::Clock::now()));
  admission_->remove_ended();
  return {};
}

bool Engine::is_idle() const {
  return admission_->is_idle();
}

bool Engine::has_idle_work() const {
  return is_idle() && idle_prefill_->has_work();
}

Status Engine::idle_step() {
  REQUIRE(is_idle());
  const Status status = caught([&] { return try_idle_step(); });
  if (!status.ok()) fail_step(status.error());
  publish_counters();
  return status;
}

Status Engine::try_idle_step() {
  const auto start = Sequence::Clock::now();
  const auto chunk = idle_prefill_->plan();
  if (!chunk) return {};
  RZ_CHECK_OK(step_->run_alone(idle_prefill_->sequence(), *chunk));
  step_->tell_operations(idle_prefill_->sequence());
  idle_prefill_->take(*chunk, elapsed_ms(start, Sequence::Clock::now()));
  return {};
}

void Engine::forget_prefixes(std::optional<uint64_t> tenant) {
  idle_prefill_->forget(tenant);
  prefixes_->forget(tenant);
  publish_counters();
}

void Engine::cancel_all() {
  idle_prefill_->pause();
  end_all(FinishReason::kCancelled, nullptr);
}

void Engine::end_all(FinishReason reason, const Error* error) {
  admission_->end_running(reason, error);
  admission_->end_waiting(reason, error);
  publish_counters();
}

// Waiting requests may succeed, unless the device is lost. The content of the cache is unknown now.
void Engine::fail_step(const Error& error) {
  counters_.is_device_lost = backend_.is_lost();
  admission_->end_running(FinishReason::kError, &error);
  if (backend_.is_lost()) admission_->end_waiting(FinishReason::kError, &error);
  forget_prefixes();
}

// Works in slices, so that no step waits long for one.
bool Engine::wipe_some() {
  constexpr size_t kSliceBytes = size_t{64} << 20;
  const auto max_blocks = static_cast<uint32_t>(kSliceBytes / std::max<size_t>(1, backend_.block_bytes()) + 1);
  return prefixes_->wipe_some(max_blocks) && (drafter_ == nullptr || drafter_->wipe_some(max_blocks));
}

std::span<const SequencePtr> Engine::running() const {
  return admission_->running();
}

std::span<const SequencePtr> Engine::idle_sequence() const {
  return idle_prefill_->sequence();
}

void Engine::publish_counters() {
  counters_.n_waiting.store(static_cast<uint32_t>(admission_->n_waiting()), std::memory_order_relaxed);
  prefixes_->publish_counters();
  // Stored last: a reader that sees that nothing runs also sees the results.
  counters_.n_running.store(static_cast<uint32_t>(admission_->running().size()), std::memory_order_release);
}

}  // namespace realizar::engine
