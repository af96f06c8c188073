#include "support/attention_rig.h"

#include <algorithm>
#include <cmath>

#include "backend/ops.h"

namespace realizar::test {
namespace {

constexpr uint32_t kLayers = 2, kLayer = 1;
constexpr float kFiller = 1000.0f;

// Keys or values for every content, and a last row of filler.
InputTable cached_inputs(uint32_t n_contents, uint32_t n_cols, uint32_t seed) {
  InputTable table = random_inputs(n_contents + 1, n_cols, seed);
  for (uint32_t i = 0; i < n_cols; ++i) table.row(n_contents)[i] *= kFiller;
  return table;
}

}  // namespace

float AttentionCase::scale() const {
  return 2.0f / std::sqrt(static_cast<float>(head_dim));
}

AttentionRig::AttentionRig(std::unique_ptr<Backend> backend, const AttentionCase& c, uint32_t block_step)
    : case_(c),
      queries_(random_inputs(kContents, c.n_heads * c.head_dim, 1)),
      rig_(std::move(backend), {.max_rows = kMaxRows,
                                .max_logit_rows = 1,
                                .max_seqs = std::size(kRoom),
                                .max_context = kBlocks * kBlockTokens}),
      q_(rig_.input(queries_)),
      k_(rig_.input(cached_inputs(kContents, c.n_kv_heads * c.head_dim, 2))),
      v_(rig_.input(cached_inputs(kContents, c.n_kv_heads * c.head_dim, 3))),
      out_(rig_.output(c.n_heads * c.head_dim)) {
  if (!rig_.backend()
           .create_kv_cache(KvLayout{kLayers, c.n_kv_heads, c.head_dim, kBlockTokens, kBlocks, c.kv_type})
           .ok()) {
    std::abort();
  }
  // Chosen so that far positions are lost to some heads and not to others.
  std::vector<float> slopes;
  for (uint32_t h = 0; h < c.n_heads; ++h) slopes.push_back(0.3f / static_cast<float>(1 + 3 * h));
  if (c.has_slopes) slopes_ = rig_.vector(slopes);
  if (c.has_sinks) sinks_ = rig_.vector(random_inputs(1, c.n_heads, 4).values);
  uint32_t block = 11;
  for (size_t seq = 0; seq < std::size(kRoom); ++seq) {
    for (uint32_t pos = 0; pos < kRoom[seq]; pos += kBlockTokens) {
      tables_[seq].push_back(BlockId{block});
      block = (block + block_step) % kBlocks;
    }
  }
  fill_all_blocks();
}

// Without rotation or norms the queries play no role in storing, so the keys are passed in their place.
void AttentionRig::store(Program& p, uint32_t layer) const {
  p.add(RopeStoreOp{.q = k_,
                    .k = k_,
                    .v = v_,
                    .layer = layer,
                    .n_heads = case_.n_kv_heads,
                    .n_kv_heads = case_.n_kv_heads,
                    .head_dim = case_.head_dim});
}

void AttentionRig::fill_all_blocks() {
  std::vector<BlockId> all;
  for (uint32_t i = 0; i < kBlocks; ++i) all.push_back(BlockId{i});
  for (uint32_t begin = 0; begin < kBlocks * kBlockTokens; begin += kMaxRows) {
    TestBatch batch;
    batch.tokens.assign(kMaxRows, TokenId{kContents});
    for (uint32_t i = 0; i < kMaxRows; ++i) batch.positions.push_back(static_cast<Pos>(begin + i));
    batch.seqs = {{0, kMaxRows, static_cast<Pos>(begin), all}};
    rig_.step(batch, {k_, v_}, [&](Program& p) {
      for (uint32_t layer = 0; layer < kLayers; ++layer) store(p, layer);
    });
  }
}

TestBatch AttentionRig::batch_of(std::span<const Chunk> chunks, uint32_t n_decode) const {
  TestBatch batch;
  for (const Chunk& chunk : chunks) {
    const auto first_row = static_cast<uint32_t>(batch.tokens.size());
    batch.seqs.push_back({first_row, chunk.n_rows, static_cast<Pos>(chunk.first_pos), tables_[chunk.seq]});
    for (uint32_t pos = chunk.first_pos; pos < chunk.first_pos + chunk.n_rows; ++pos) {
      batch.tokens.push_back(static_cast<TokenId>(token_of(chunk.seq, pos)));
      batch.positions.push_back(static_cast<Pos>(pos));
    }
  }
  batch.n_decode_rows = n_decode;
  return batch;
}

void AttentionRig::store_history(uint32_t seq, uint32_t n_pos) {
  for (uint32_t begin = 0; begin < n_pos; begin += kMaxRows) {
    const Chunk chunk{seq, begin, std::min(kMaxRows, n_pos - begin)};
    rig_.step(batch_of({&chunk, 1}, 0), {k_, v_}, [&](Program& p) { store(p, kLayer); });
  }
}

std::vector<float> AttentionRig::attend(const std::vector<Chunk>& chunks, uint32_t n_decode) {
  rig_.step(batch_of(chunks, n_decode), {q_, k_, v_}, [&](Program& p) {
    store(p, kLayer);
    p.add(AttentionOp{.out = out_,
                      .q = q_,
                      .layer = kLayer,
                      .n_heads = case_.n_heads,
                      .n_kv_heads = case_.n_kv_heads,
                      .head_dim = case_.head_dim,
                      .scale = case_.scale(),
                      .softcap = case_.softcap,
                      .window = case_.window,
                      .is_chunked = case_.is_chunked,
                      .is_bidirectional = case_.is_bidirectional,
                      .sinks = sinks_,
                      .slopes = slopes_});
  });
  return rig_.read(out_);
}

}  // namespace realizar::test
