// Attention of the CUDA backend over contexts anywhere in the cache.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "backend/ops.h"
#include "support/op_rig.h"

namespace realizar::test {

struct ContextShape {
  uint32_t head_dim = 64, n_heads = 2, n_kv_heads = 1;
  uint32_t window = 0;
  bool is_chunked = false;
  float softcap = 0;
  KvType type = KvType::kF16;
  uint32_t block_tokens = 32;
  uint32_t latent_dim = 0;  // of a key, which then contains its value
  bool is_bidirectional = false;

  uint32_t value_dim() const { return latent_dim > 0 ? latent_dim : head_dim; }
};

// Rows of one sequence.
struct SeqRows {
  uint32_t seq, first_pos, n_rows;
};

// A sequence's content at a position is a function of the two; its blocks are anywhere.
class ContextRig {
 public:
  ContextRig(std::unique_ptr<Backend> backend, const ContextShape& shape, std::span<const uint32_t> contexts)
      : shape_(shape),
        limits_{.max_rows = kMaxRows,
                .max_logit_rows = 1,
                .max_seqs = static_cast<uint32_t>(contexts.size()),
                .max_context = *std::max_element(contexts.begin(), contexts.end())},
        rig_(std::move(backend), limits_),
        q_(rig_.input(random_inputs(kContents, shape.n_heads * shape.head_dim, 1))),
        k_(rig_.input(random_inputs(kContents, shape.n_kv_heads * shape.head_dim, 2))),
        v_(rig_.input(random_inputs(kContents, shape.n_kv_heads * shape.head_dim, 3))),
        norm_(rig_.vector(std::vector<float>(shape.value_dim(), 0.5f))),
        out_(rig_.output(shape.n_heads * shape.value_dim())) {
    uint32_t n_blocks = 0;
    for (const uint32_t n : contexts) {
      std::vector<BlockId>& table = tables_.emplace_back();
      for (uint32_t pos = 0; pos < n; pos += shape.block_tokens) table.push_back(BlockId{n_blocks++});
      std::reverse(table.begin(), table.end());
    }
    CacheLayout layout;
    layout.layers = {Paged{shape.n_kv_heads, shape.head_dim, shape.latent_dim > 0 ? 0 : shape.head_dim}};
    layout.block_tokens = shape.block_tokens;
    layout.n_blocks = n_blocks;
    layout.type = shape.type;
    if (!rig_.backend().create_kv_cache(layout).ok()) std::abort();
  }

  const BackendLimits& limits() const { return limits_; }
  void store_history(uint32_t seq, uint32_t n_pos) {
    for (uint32_t begin = 0; begin < n_pos; begin += kMaxRows) {
      const SeqRows rows{seq, begin, std::min(kMaxRows, n_pos - begin)};
      rig_.step(batch_of({&rows, 1}, 0), {k_, v_}, [&](Program& p) { store(p); });
    }
  }
  std::vector<float> attend(std::span<const SeqRows> rows, uint32_t n_decode) {
    rig_.step(batch_of(rows, n_decode), {q_, k_, v_}, [&](Program& p) {
      store(p);
      p.add(AttentionOp{.out = out_,
                        .q = q_,
                        .layer = 0,
                        .n_heads = shape_.n_heads,
                        .n_kv_heads = shape_.n_kv_heads,
                        .head_dim = shape_.head_dim,
                        .scale = 2.0f / std::sqrt(static_cast<float>(shape_.head_dim)),
                        .softcap = shape_.softcap,
                        .window = shape_.window,
                        .is_chunked = shape_.is_chunked,
                        .is_bidirectional = shape_.is_bidirectional,
                        .latent_dim = shape_.latent_dim});
    });
    return rig_.read(out_);
  }

 private:
  static constexpr uint32_t kMaxRows = 256, kContents = 499;

  void store(Program& p) const {
    if (shape_.latent_dim > 0) return store_latents(p);
    p.add(RopeStoreOp{.q = k_,
                      .k = k_,
                      .v = v_,
                      .layer = 0,
                      .n_heads = 0,
                      .n_kv_heads = shape_.n_kv_heads,
                      .head_dim = shape_.head_dim});
  }
  void store_latents(Program& p) const {
    p.add(LatentStoreOp{.query = q_,
                        .q = q_,
                        .latent = k_,
                        .layer = 0,
                        .n_heads = 0,
                        .query_dim = shape_.head_dim,
                        .latent_dim = shape_.latent_dim,
                        .n_rot = shape_.head_dim - shape_.latent_dim,
                        .norm = norm_});
  }
  TestBatch batch_of(std::span<const SeqRows> all, uint32_t n_decode) const {
    TestBatch batch;
    for (const SeqRows& rows : all) {
      const auto first_row = static_cast<uint32_t>(batch.tokens.size());
      batch.seqs.push_back({first_row, rows.n_rows, static_cast<Pos>(rows.first_pos), tables_[rows.seq]});
      for (uint32_t pos = rows.first_pos; pos < rows.first_pos + rows.n_rows; ++pos) {
        const uint32_t mixed = (4099 * rows.seq + pos + 1) * 0x9e3779b1u;
        batch.tokens.push_back(static_cast<TokenId>((mixed ^ (mixed >> 15)) % kContents));
        batch.positions.push_back(static_cast<Pos>(pos));
      }
    }
    batch.n_decode_rows = n_decode;
    return batch;
  }

  ContextShape shape_;
  BackendLimits limits_;
  OpRig rig_;
  ActId q_, k_, v_;
  WeightId norm_;
  ActId out_;
  std::vector<std::vector<BlockId>> tables_;
};

// A step of one sequence for each SeqRows, over all its earlier rows.
inline std::vector<float> attended(std::unique_ptr<Backend> backend, const ContextShape& shape,
                                   const std::vector<SeqRows>& rows, uint32_t n_decode) {
  std::vector<uint32_t> contexts;
  for (const SeqRows& r : rows) contexts.push_back(r.first_pos + r.n_rows);
  ContextRig rig(std::move(backend), shape, contexts);
  for (const SeqRows& r : rows) rig.store_history(r.seq, r.first_pos);
  return rig.attend(rows, n_decode);
}

}  // namespace realizar::test
