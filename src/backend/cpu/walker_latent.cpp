// Latent attention beside the attention itself: each head's own product, and what is stored of a position.
#include <algorithm>

#include "backend/cpu/walker.h"

namespace realizar::cpu {

// A slot is a row and a head: row * n_heads + head. Where a head's part of a row is wider than the product reads, the
// parts are brought together first.
const float* Walker::head_parts(const HeadLinearOp& op, uint32_t n_cols, uint32_t member) {
  if (op.in_width == n_cols) return act(op.in);
  float* parts = scratch_.head_parts();
  share(batch_->n_rows(), member, [&](uint32_t r) {
    for (uint32_t h = 0; h < op.n_heads; ++h) {
      std::copy_n(act(op.in, r) + size_t{h} * op.in_width, n_cols, parts + (size_t{r} * op.n_heads + h) * n_cols);
    }
  });
  team_.barrier(member);
  return parts;
}

void Walker::run(const HeadLinearOp& op, const Hints&, uint32_t member) {
  const PanelMatrix& m = matrix(op.weight);
  const uint32_t n_rows = batch_->n_rows(), n_decode = batch_->n_decode_rows;
  const float* parts = head_parts(op, m.n_cols, member);
  if (member == 0) {
    for (uint32_t h = 0; h < op.n_heads; ++h) {
      for (uint32_t r = 0; r < n_rows; ++r) head_slots_[size_t{h} * n_rows + r] = r * op.n_heads + h;
    }
  }
  const RowList slots{identity_.data(), n_decode * op.n_heads, n_rows * op.n_heads};
  prepare_rows(scratch_.prepared_heads(), parts, m, slots, member);
  const Operand in{parts, &scratch_.prepared_heads(), set_of(slots)};
  float* acc = scratch_.accumulators(member, 0);
  const PairItems items = pair_items(m, row_list(Rows::kAll));
  share(op.n_heads * items.n_each(), member, [&](uint32_t item) {
    const uint32_t head = item / items.n_each();
    const PairRange pairs = items.range(item);
    const RowList list{&head_slots_[size_t{head} * n_rows], n_decode, n_rows};
    multiply_pairs(kernels_, m, head, pairs, in, list, acc, scratch_.products(member));
    for (uint32_t p = 0; p < pairs.n; ++p) {
      const uint32_t first = (pairs.first + p) * kPairRows, n = std::min(kPairRows, m.n_rows - first);
      for (uint32_t r = 0; r < n_rows; ++r) {
        const float* from = sums_of(acc, list, p) + size_t{r} * kPairRows;
        std::copy_n(from, n, act(op.out, r) + size_t{head} * op.out_width + first);
      }
    }
  });
}

void Walker::run(const LatentStoreOp& op, const Hints& hints, uint32_t member) {
  const NormOp norm{.out = op.latent, .in = op.latent, .weight = op.norm, .eps = op.norm_eps};
  const uint32_t key_dim = op.latent_dim + op.n_rot;
  share(batch_->n_rows(), member, [&](uint32_t r) {
    const Angles angles{op.inv_freq, op.n_rot, op.rope_scale};
    if (op.inv_freq != kNoWeight && hints.rotates) find_rotation(angles, r);
    const auto turn = [&](float* rotated) {
      if (op.inv_freq != kNoWeight) rotate(rotated, op.n_rot, rotation(r));
    };
    for (uint32_t h = 0; h < op.n_heads; ++h) {
      float* rotated = act(op.query, r) + size_t{h} * key_dim + op.latent_dim;
      std::copy_n(act(op.q, r) + size_t{h + 1} * op.query_dim - op.n_rot, op.n_rot, rotated);
      turn(rotated);
    }
    if (op.temperature > 0) {
      kernels_.scale(temperature_at(op, batch_->positions[r]), act(op.query, r), op.n_heads * key_dim);
    }
    float* key = act(op.latent, r);
    normalize(norm, key, key, op.latent_dim);
    turn(key + op.latent_dim);
    const BatchSequence& seq = seq_of(r);
    const auto pos = static_cast<uint32_t>(batch_->positions[r]);
    cache_.store(seq.block_tables.of(cache_.group_of(op.layer)), op.layer, 0, pos, key, nullptr);
  });
}

}  // namespace realizar::cpu
