// Drives cache writes and attention over several sequences at once. A sequence's content at a position is a function of
// the two; every block is first filled with large values, so that reads of anything else show.
#pragma once

#include <iterator>
#include <span>

#include "support/op_rig.h"

namespace realizar::test {

struct AttentionCase {
  uint32_t head_dim, n_heads, n_kv_heads;
  uint32_t window = 0;
  float softcap = 0.0f;
  KvType kv_type = KvType::kF32;
  bool has_sinks = false;
  bool is_chunked = false;
  bool has_slopes = false;
  bool is_bidirectional = false;

  float scale() const;
};

// Rows of one sequence in a step.
struct Chunk {
  uint32_t seq;
  uint32_t first_pos, n_rows;
};

class AttentionRig {
 public:
  // Positions that each sequence has room for.
  static constexpr uint32_t kRoom[] = {48, 640, 80};

  // `block_step`, prime to kBlocks, is the distance between a sequence's blocks in the pool.
  AttentionRig(std::unique_ptr<Backend> backend, const AttentionCase& c, uint32_t block_step = 37);

  // Fills positions [0, n_pos) of a sequence's cache.
  void store_history(uint32_t seq, uint32_t n_pos);
  // Attention's output of a step that stores and attends the chunks' rows in order, [n_rows, n_heads * head_dim]; the
  // first n_decode rows are decode rows.
  std::vector<float> attend(const std::vector<Chunk>& chunks, uint32_t n_decode);

  const float* query(uint32_t seq, uint32_t pos) const { return queries_.row(token_of(seq, pos)); }

 private:
  static constexpr uint32_t kBlockTokens = 16, kBlocks = 50;  // 48 of them in use
  static constexpr uint32_t kMaxRows = 160;
  static constexpr uint32_t kContents = 499;  // different rows of queries, keys and values

  // Without a period, so that no two ranges of a sequence have the same contents.
  static uint32_t token_of(uint32_t seq, uint32_t pos) {
    const uint32_t mixed = (1024 * seq + pos + 1) * 0x9e3779b1u;
    return ((mixed ^ (mixed >> 15)) * 0x85ebca77u >> 8) % kContents;
  }
  void fill_all_blocks();
  void store(Program& p, uint32_t layer) const;
  TestBatch batch_of(std::span<const Chunk> chunks, uint32_t n_decode) const;

  AttentionCase case_;
  InputTable queries_;
  OpRig rig_;
  ActId q_, k_, v_, out_;
  WeightId sinks_ = kNoWeight, slopes_ = kNoWeight;
  std::vector<BlockId> tables_[std::size(kRoom)];
};

}  // namespace realizar::test
