#include "server.h"

#include <chrono>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/try.h"
#include "engine/cache_sizes.h"

namespace realizar::fleet {
namespace {

engine::Sequence::Clock::time_point time_point_of(double now_s) {
  using Clock = engine::Sequence::Clock;
  return Clock::time_point(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(now_s)));
}

}  // namespace

bool Call::on_token(const TokenEvent&) {
  if (first_token_s >= 0) return true;
  first_token_s = clock->now_s;
  if (begun != nullptr) begun->push_back(this);
  return true;
}

void Call::on_end(const engine::Ending& ending) noexcept {
  end_s = clock->now_s;
  n_cached = ending.stats.n_cached;
  reason = ending.reason;
  if (ended != nullptr) ended->push_back(this);
}

BackendInfo TokenBackend::info() const {
  return {.name = "tokens",
          .description = "computes nothing",
          .arithmetic = "none",
          .decode_matches_prefill = decode_matches_prefill_};
}

bool Server::Evictions::save(BlockId id, uint32_t) {
  const kv::BlockPool::Name name = server_.pool_.name_of(id);
  if (name.tokens.size() == server_.pool_.block_tokens()) server_.events_.push_back({name.hash, false});
  return false;
}

Server::Server(const ServerOptions& options, const kv::HashKey& key, uint64_t seed)
    : times_(options.times),
      noise_(options.noise),
      random_(seed),
      backend_(options.decode_matches_prefill),
      evictions_(*this),
      pool_(engine::n_blocks_for(std::vector<uint32_t>{0}, options.engine), options.engine.block_tokens, key,
            &evictions_, 1),
      idle_prefill_(pool_, engine::limits_for(options.engine).max_rows,
                    options.engine.idle_prefill && !options.decode_matches_prefill, counters_),
      admission_(pool_, idle_prefill_, options.engine, options.decode_matches_prefill, counters_),
      step_(backend_, {}, engine::limits_for(options.engine), options.n_vocab, options.engine, counters_),
      results_(backend_, {.n_vocab = options.n_vocab}, {}, options.engine.n_ctx, masks_, counters_),
      limits_{.n_ctx = options.engine.n_ctx, .n_vocab = options.n_vocab, .d_model = 1, .max_drafts = 0} {}

Status Server::submit(Call& call) {
  RZ_TRY(engine::SequencePtr sequence,
         engine::make_sequence(call.request, call, limits_, pool_, call.request.cache_salt));
  mail_.push_back(std::move(sequence));
  return {};
}

double Server::begin_step(double now_s) {
  for (engine::SequencePtr& sequence : mail_) {
    idle_prefill_.pause();
    admission_.submit(std::move(sequence));
  }
  mail_.clear();
  step_ms_ = admission_.is_idle() ? begin_idle_work() : begin_requests(now_s);
  if (noise_ > 0) step_ms_ *= std::exp(std::normal_distribution<>(0, noise_)(random_));
  busy_s_ += step_ms_ / 1e3;
  return step_ms_;
}

// Engine::try_step up to the run of the backend. There are neither guesses nor masks.
double Server::begin_requests(double now_s) {
  admission_.update(time_point_of(now_s));
  if (admission_.running().empty()) return 0;
  while (!step_.plan(admission_.running(), admission_.n_waiting())) admission_.preempt();
  REQUIRE(!step_.chunks().empty());
  backend_.next_tokens().clear();
  for (const engine::PlannedChunk& chunk : step_.chunks()) {
    const engine::Sequence& sequence = *admission_.running()[chunk.seq_idx];
    note_blocks(sequence, chunk.n_tokens);
    if (chunk.n_logit_rows > 0) {
      const auto& call = static_cast<const Call&>(*sequence.sink);
      backend_.next_tokens().push_back(call.answer[sequence.n_generated()]);
    }
  }
  return times_.ms(engine::work_of(step_.chunks()));
}

double Server::begin_idle_work() {
  idle_chunk_ = idle_prefill_.plan();
  if (!idle_chunk_) return 0;
  note_blocks(*idle_prefill_.sequence().front(), idle_chunk_->n_tokens);
  return times_.ms({.n_prompt_tokens = idle_chunk_->n_tokens});
}

void Server::end_step() {
  if (idle_chunk_) {
    REQUIRE(step_.run_alone(idle_prefill_.sequence(), *idle_chunk_).ok());
    idle_prefill_.take(*idle_chunk_, step_ms_);
    idle_chunk_.reset();
    return tell_stored();
  }
  REQUIRE(step_.run(admission_.running()).ok());
  admission_.charge(step_.chunks());
  results_.take(admission_.running(), step_.chunks());
  step_.observe(admission_.running(), step_ms_);
  tell_stored();
  admission_.remove_ended();
}

// The step's results release blocks, so they are noted first.
void Server::note_blocks(const engine::Sequence& sequence, uint32_t n_tokens) {
  const uint32_t block_tokens = pool_.block_tokens();
  const uint32_t first = sequence.n_computed() / block_tokens, end = (sequence.n_computed() + n_tokens) / block_tokens;
  const auto completed = sequence.cache.table().subspan(first, end - first);
  filled_.insert(filled_.end(), completed.begin(), completed.end());
}

// A block whose name another block already had gets none.
void Server::tell_stored() {
  for (const BlockId id : filled_) {
    const kv::BlockPool::Name name = pool_.name_of(id);
    if (name.hash != 0 && name.tokens.size() == pool_.block_tokens()) events_.push_back({name.hash, true});
  }
  filled_.clear();
}

}  // namespace realizar::fleet
