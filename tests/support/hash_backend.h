// A backend for tests of scheduling: its cache records which token was computed at a position and with which
// arithmetic, and a row's logits are a hash of the cached data of its sequence. So a block that was lost, shared
// wrongly, overwritten or filled with the other arithmetic changes the resulting tokens. With a recurrent state, that
// is such a hash too, carried on from step to step: a stale, lost, wrong or too advanced one changes them as well. So
// do an adapter and its factor, recorded for each position.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/backend.h"

namespace realizar::testing {

class HashBackend final : public Backend {
 public:
  explicit HashBackend(bool decode_matches_prefill = false, bool has_state = false)
      : decode_matches_prefill_(decode_matches_prefill), has_state_(has_state) {}

  BackendInfo info() const override {
    return {
        .name = "hash", .description = "hash", .arithmetic = "hash", .decode_matches_prefill = decode_matches_prefill_};
  }
  Status configure(const BackendLimits& limits) override;
  Result<WeightId> load_matrix(const MatrixSource&) override { return WeightId{n_weights_++}; }
  Result<WeightId> load_vector(std::span<const float>, int32_t) override { return WeightId{n_weights_++}; }
  Status write_weights(WeightId, size_t, std::span<const float>) override { return {}; }
  Result<ProgramId> compile(const Program& program) override;
  Status create_kv_cache(const CacheLayout& layout) override;
  size_t block_bytes() const override { return layout_.block_tokens * sizeof(Cell); }
  void read_block(BlockId id, std::span<std::byte> bytes) const override;
  void write_block(BlockId id, std::span<const std::byte> bytes) override;
  void copy_block(BlockId from, BlockId to) override;
  void zero_block(BlockId id) override;
  void read_kv(uint32_t, BlockId, std::span<float>, std::span<float>) const override {}
  size_t state_bytes() const override { return has_state_ ? sizeof(uint64_t) : 0; }
  void read_state(StateId slot, std::span<std::byte> bytes) const override;
  void write_state(StateId slot, std::span<const std::byte> bytes) override;
  void zero_state(StateId slot) override { states_[static_cast<uint32_t>(slot)] = 0; }
  std::span<std::byte> allocate_host(size_t n_bytes) override { return host_.emplace_back(n_bytes); }

  void run(ProgramId, const StepBatch& batch) override;
  Status wait() override;
  bool is_lost() const override { return is_lost_; }
  std::span<const float> read(ActId act) const override;
  void set_trace(bool) override {}
  std::span<const OpTiming> last_trace() const override { return {}; }

  // Makes steps wait until they are released.
  void hold_steps(bool holds) {
    holds_ = holds;
    holds_.notify_all();
  }
  // Makes the next step fail, and if the device is lost with it all later ones.
  void fail_step(bool is_lost) {
    fails_ = true;
    is_lost_ = is_lost;
  }

  // Makes the logits and hidden states after this token invalid.
  void spoil_after(TokenId token, float value) {
    spoiled_ = token;
    spoiled_value_ = value;
  }

  // The hash for a row of the logits: fold these over the positions that the row sees, for one group of layers after
  // the other (state_layout.h), then make the row.
  static uint64_t fold(uint64_t hash, TokenId token, bool is_decode, const BatchAdapter& adapter = {});
  // The state after all positions, which are folded into kFirstState, is folded last.
  static constexpr uint64_t kFirstState = 77;
  static uint64_t fold_state(uint64_t hash, uint64_t state) { return fold(hash ^ state, TokenId{0}, false); }
  static void fill_logits(uint64_t hash, std::span<float> row);

 private:
  struct Cell {
    TokenId token = kNoToken;
    uint16_t is_decode = 0, group = 0;
    BatchAdapter adapter = {};
  };
  struct Activation {
    uint32_t n_cols;
    std::vector<float> values;
  };
  Cell& cell(const BatchSequence& seq, uint32_t group, uint32_t pos);
  uint64_t hash_of_seen(const BatchSequence& seq, uint32_t pos);
  void advance_states();
  // Whether its arithmetic is that of decode rows.
  bool is_decode(uint32_t row) const { return !decode_matches_prefill_ && row < batch_->n_decode_rows; }

  bool decode_matches_prefill_, has_state_;
  BackendLimits limits_;
  CacheLayout layout_;
  LayerGroups groups_;
  const StepBatch* batch_ = nullptr;
  std::vector<Cell> cells_;           // [n_blocks, block_tokens]
  std::vector<uint64_t> states_;      // [n_states]
  std::vector<uint64_t> row_states_;  // of the step
  std::vector<Activation> activations_;
  std::vector<std::vector<std::byte>> host_;
  uint32_t n_weights_ = 1;
  bool fails_ = false, is_lost_ = false;
  std::atomic<bool> holds_{false};
  TokenId spoiled_ = kNoToken;
  float spoiled_value_ = 0;
};

}  // namespace realizar::testing
