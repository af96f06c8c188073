// One server of a simulated fleet: the engine's own parts, connected as in Engine, with a backend that computes
// nothing. A step has a beginning and an end, with the simulated time between them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "engine/admission.h"
#include "engine/engine_options.h"
#include "engine/mask_turns.h"
#include "engine/results.h"
#include "engine/step.h"
#include "kv/block_pool.h"
#include "realizar/request.h"
#include "step_times.h"

namespace realizar::fleet {

// The fleet's clock, for clients and routers.
struct FleetClock {
  double now_s = 0;
};

// A request in a server, and the times of its tokens. Must outlive its sequence.
struct Call final : engine::RequestSink {
  Request request;
  std::span<const TokenId> answer;  // the tokens to generate
  const FleetClock* clock = nullptr;
  uint64_t conversation = 0;
  size_t talk = 0;  // the fleet's index for it
  uint32_t server = 0;
  uint32_t n_cached = 0;                              // tokens of the prompt
  double sent_s = 0, first_token_s = -1, end_s = -1;  // -1: not yet
  FinishReason reason{};
  std::vector<Call*>* ended = nullptr;  // receives it when it has ended
  std::vector<Call*>* begun = nullptr;  // receives it when it has its first token

  bool on_token(const TokenEvent& event) override;
  void on_end(const engine::Ending& ending) noexcept override;
};

// A whole block can be found in a server's cache from now on, or no longer; vLLM's BlockStored and BlockRemoved.
struct KvEvent {
  uint64_t hash;
  bool is_stored;
};

// A device that returns predetermined tokens.
class TokenBackend final : public Backend {
 public:
  explicit TokenBackend(bool decode_matches_prefill) : decode_matches_prefill_(decode_matches_prefill) {}
  std::vector<TokenId>& next_tokens() { return next_tokens_; }  // [logit rows] of the next step

  Status configure(const BackendLimits&) override { return {}; }
  Result<WeightId> load_matrix(const MatrixSource&) override { return WeightId{}; }
  Result<WeightId> load_vector(std::span<const float>, int32_t) override { return WeightId{}; }
  Status write_weights(WeightId, size_t, std::span<const float>) override { return {}; }
  Status create_kv_cache(const CacheLayout&) override { return {}; }
  Result<ProgramId> compile(const Program&) override { return ProgramId{}; }
  void run(ProgramId, const StepBatch&) override {}
  Status wait() override { return {}; }
  std::span<const float> read(ActId) const override { return {}; }
  std::span<const TokenId> chosen() const override { return next_tokens_; }
  size_t block_bytes() const override { return 0; }
  void read_block(BlockId, std::span<std::byte>) const override {}
  void write_block(BlockId, std::span<const std::byte>) override {}
  void zero_block(BlockId) override {}
  void copy_block(BlockId, BlockId) override {}
  void read_kv(uint32_t, BlockId, std::span<float>, std::span<float>) const override {}
  BackendInfo info() const override;
  void set_trace(bool) override {}
  std::span<const OpTiming> last_trace() const override { return {}; }

 private:
  bool decode_matches_prefill_;
  std::vector<TokenId> next_tokens_;
};

struct ServerOptions {
  engine::EngineOptions engine;
  StepTimes times;
  bool decode_matches_prefill = true;  // as in BackendInfo: an answer's blocks serve the next turn unchanged
  uint32_t n_vocab = 0;                // token ids are smaller
  double noise = 0;                    // standard deviation of the logarithm of a step's time
};

class Server {
 public:
  // All servers name blocks with one key, so that names can be compared. `seed`: for the noise.
  Server(const ServerOptions& options, const kv::HashKey& key, uint64_t seed = 0);

  // Admitted when the next step begins. Errors: as engine::make_sequence.
  Status submit(Call& call);
  // Begins the next step and returns its milliseconds; 0: there is nothing to do. Recomputes answers when idle, like
  // Engine::idle_step.
  double begin_step(double now_s);
  // Its tokens are available.
  void end_step();

  // Since the reader last cleared them.
  std::vector<KvEvent>& events() { return events_; }
  const kv::BlockPool& pool() const { return pool_; }
  const engine::EngineCounters& counters() const { return counters_; }
  size_t n_open() const { return mail_.size() + admission_.running().size() + admission_.n_waiting(); }
  double busy_s() const { return busy_s_; }

 private:
  // Reports the names that blocks lose. It has one slot, in which nothing is ever stored.
  class Evictions final : public kv::BlockStore {
   public:
    explicit Evictions(Server& server) : server_(server) {}
    bool save(BlockId id, uint32_t place) override;
    void restore(uint32_t, BlockId) override {}
    void copy(BlockId, BlockId) override {}

   private:
    Server& server_;
  };

  double begin_requests(double now_s);
  double begin_idle_work();
  void note_blocks(const engine::Sequence& sequence, uint32_t n_tokens);
  void tell_stored();

  const StepTimes times_;
  const double noise_;
  std::mt19937_64 random_;
  TokenBackend backend_;
  engine::EngineCounters counters_;
  Evictions evictions_;
  kv::BlockPool pool_;
  engine::IdlePrefill idle_prefill_;
  engine::Admission admission_;
  engine::Step step_;
  engine::MaskTurns masks_;
  engine::Results results_;
  const engine::SequenceLimits limits_;
  std::vector<engine::SequencePtr> mail_;
  std::vector<BlockId> filled_;  // blocks that the step completes
  std::vector<KvEvent> events_;
  std::optional<engine::PlannedChunk> idle_chunk_;
  double step_ms_ = 0, busy_s_ = 0;
};

}  // namespace realizar::fleet
