#include "backend/cpu/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/cpu/matmul.h"

namespace realizar::cpu {
namespace {

constexpr size_t kMaxQueries = 96;  // queries per call of multiply

// Floats of a task's tiles.
size_t n_keys(const AttentionOp& op) {
  return size_t{kKvPiece} * op.head_dim;
}
size_t n_values(const AttentionOp& op) {
  return size_t{kKvPiece} * padded_head_dim(op.value_dim());
}
size_t n_scores(const AttentionOp& op) {
  return size_t{kKvPiece} * max_queries(op);
}

// F32 tiles or rows, and their bf16 halves (matmul.h), which have the same size.
struct Halved {
  float* values;
  uint16_t* halves;

  Halved(float* memory, size_t n) : values(memory), halves(reinterpret_cast<uint16_t*>(memory + n)) {}
  float* end(size_t n) const { return values + 2 * n; }
};

// One attention task: processes a piece of kKvPiece positions and a KV head at a time.
class Attention {
 public:
  Attention(const AttentionTask& task, const KernelTable& kernels, const KvStore& cache, float* sums, float* scratch)
      : task_(task),
        op_(*task.op),
        kernels_(kernels),
        cache_(cache),
        memory_(sums),
        group_(group_of(op_)),
        n_queries_(task.n_rows * group_),
        in_tiles_(task.prefill || op_.latent_dim > 0),
        splits_(task.prefill && kernels.has_bf16() && op_.head_dim % kTileDepth == 0),
        keys_(scratch, n_keys(op_)),
        values_(keys_.end(n_keys(op_)), n_values(op_)),
        scores_(values_.end(n_values(op_)), n_scores(op_)),
        queries_(reinterpret_cast<uint16_t*>(scores_.end(n_scores(op_)))) {}

  void run() {
    for (uint32_t h = 0; h < task_.n_groups; ++h) {
      std::fill_n(sums(h).states, n_queries_, Softmax{-std::numeric_limits<float>::infinity(), 0});
      std::fill_n(sums(h).values, size_t{n_queries_} * padded_head_dim(op_.value_dim()), 0.0f);
    }
    if (splits_) {
      for_queries(0, 0, n_queries_,
                  [&](uint32_t i, const float* q) { split_row(q, op_.head_dim, halves_of_query(i)); });
    }
    const uint32_t end = std::min(task_.end, end_seen(task_.n_rows - 1));
    const uint32_t begin = std::max(task_.begin, op_.first_seen(task_.first_pos));
    for (uint32_t p = begin / kKvPiece * kKvPiece; p < end; p += kKvPiece) {
      for (uint32_t h = 0; h < task_.n_groups; ++h) {
        const uint32_t piece_end = std::min(p + kKvPiece, end);
        if (in_tiles_) {
          score_tiles(h, p, piece_end);
        } else {
          score_panels(h, p, piece_end);
        }
        weigh(h, p, end);
        if (in_tiles_) {
          add_tiles(h, p, piece_end);
        } else {
          add_vectors(h, p, piece_end);
        }
      }
    }
  }

 private:
  AttentionSums sums(uint32_t h) const { return sums_at(memory_ + h * sums_floats(op_, n_queries_), n_queries_); }
  // Calls body(j, query) for n queries starting at `first`.
  template <class Body>
  void for_queries(uint32_t h, uint32_t first, uint32_t n, const Body& body) const {
    const float* of_row = task_.q + size_t{task_.first_group + h} * group_ * op_.head_dim;
    uint32_t row = first / group_, head = first % group_;
    for (uint32_t j = 0; j < n; ++j) {
      body(j, of_row + (size_t{row} * op_.n_heads + head) * op_.head_dim);
      if (++head < group_) continue;
      head = 0;
      ++row;
    }
  }

  uint32_t end_seen(uint32_t row) const { return op_.end_seen(task_.first_pos + row, task_.n_positions); }
  uint32_t kv_head(uint32_t h) const { return op_.latent_dim > 0 ? 0 : task_.first_group + h; }

  uint16_t* halves_of_query(uint32_t i) const { return queries_ + size_t{2} * i * op_.head_dim; }
  uint16_t* halves_of_scores(uint32_t i) const { return scores_.halves + size_t{2} * i * kKvPiece; }
  float* scores(uint32_t i) const { return scores_.values + size_t{i} * kKvPiece; }

  void split_row(const float* row, uint32_t n, uint16_t* to) const {
    kernels_.split_bf16(row, n, to, to + n, kTileDepth);
  }
  // Splits the tile [n, 16] at offset `at`.
  void split_tile(const Halved& tiles, size_t at, uint32_t n) const {
    uint16_t* high = tiles.halves + 2 * at;
    kernels_.split_tile(tiles.values + at, n, high, high + size_t{n} * kPanelRows);
  }
  // acc [n_rows, 32] (+)= the tiles [n, 16] at at0 and at1 . rows, with bf16 halves if splits_.
  void multiply(const Halved& tiles, size_t at0, size_t at1, uint32_t n, const void* const* rows, uint32_t n_rows,
                float* acc, bool first) const {
    if (!splits_) {
      return multiply_f32(kernels_, tiles.values + at0, tiles.values + at1, n, rows, n_rows, acc, first);
    }
    const size_t low = cache_.key_type() == TypeId::kBF16 ? 0 : size_t{n} * kPanelRows * sizeof(uint16_t);
    multiply_bf16(kernels_, {tiles.halves + 2 * at0, tiles.halves + 2 * at1, low}, n, rows, n * sizeof(uint16_t),
                  n_rows, acc, first);
  }

  // Calls body(pos, n, half) for the two halves of the piece at p, one per panel of keys: n positions from pos on.
  template <class Body>
  static void for_halves(uint32_t p, uint32_t end, const Body& body) {
    for (uint32_t half = 0; half < kKvPiece; half += kPanelRows) {
      const uint32_t n = p + half < end ? std::min(kPanelRows, end - p - half) : 0;
      body(n > 0 ? p + half : p, n, half);
    }
  }

  // scores_ [queries, kKvPiece] of the piece at p. Panels may hold anything from `end` on: weigh() gives it no weight.
  void score_tiles(uint32_t h, uint32_t p, uint32_t end) const {
    const auto unpack = kernels_of(kernels_, cache_.key_type()).unpack_f32;
    for_halves(p, end, [&](uint32_t pos, uint32_t, uint32_t half) {
      const size_t at = size_t{half} * op_.head_dim;
      unpack(cache_.keys(task_.blocks, op_.layer, kv_head(h), pos), 0, op_.head_dim, keys_.values + at);
      if (splits_) split_tile(keys_, at, op_.head_dim);
    });
    const void* rows[kMaxQueries];
    for (uint32_t i = 0; i < n_queries_; i += kMaxQueries) {
      const uint32_t n = std::min<uint32_t>(kMaxQueries, n_queries_ - i);
      for_queries(h, i, n, [&](uint32_t j, const float* q) {
        rows[j] = splits_ ? static_cast<const void*>(halves_of_query(i + j)) : q;
      });
      multiply(keys_, 0, size_t{kPanelRows} * op_.head_dim, op_.head_dim, rows, n, scores(i), true);
    }
  }

  // score_tiles for few queries, directly from the panels.
  void score_panels(uint32_t h, uint32_t p, uint32_t end) const {
    const auto score = kernels_of(kernels_, cache_.key_type()).score;
    const uint8_t* panels[2];
    for_halves(p, end, [&](uint32_t pos, uint32_t, uint32_t half) {
      panels[half / kPanelRows] = cache_.keys(task_.blocks, op_.layer, kv_head(h), pos);
    });
    for (uint32_t i = 0; i < n_queries_; i += kernels_.dot_rows) {
      const uint32_t n = std::min(kernels_.dot_rows, n_queries_ - i);
      const float* rows[kMaxDotRows];
      for_queries(h, i, n, [&](uint32_t j, const float* q) { rows[j] = q; });
      score(panels[0], panels[1], op_.head_dim, rows, n, scores(i));
    }
  }

  // Adds the ALiBi slope to the scores of the piece at p, before they are scaled.
  void add_slope(uint32_t h, uint32_t i, uint32_t p) const {
    const uint32_t head = (task_.first_group + h) * group_ + i % group_, pos = task_.first_pos + i / group_;
    const float slope = task_.slopes[head] / op_.scale;
    const auto first = static_cast<float>(static_cast<int32_t>(p) - static_cast<int32_t>(pos));
    for (uint32_t j = 0; j < kKvPiece; ++j) scores(i)[j] -= slope * std::fabs(first + static_cast<float>(j));
  }

  // Positions [from, to) of the piece at p that a row attends to.
  struct Seen {
    uint32_t from, to;
    bool operator==(const Seen&) const = default;
  };
  Seen seen_by(uint32_t row, uint32_t p, uint32_t end) const {
    const uint32_t from = std::max(p, op_.first_seen(task_.first_pos + row)) - p;
    const uint32_t to = std::min({p + kKvPiece, end_seen(row), end});
    return {std::min(from, kKvPiece), to > p ? to - p : 0};
  }

  // Turns the scores of the piece at p into weights and rescales earlier sums to the new maximum.
  void weigh(uint32_t h, uint32_t p, uint32_t end) const {
    const AttentionSums to_head = sums(h);
    for (uint32_t i = 0; task_.slopes != nullptr && i < n_queries_; ++i) add_slope(h, i, p);
    for (uint32_t row = 0, n = 0; row < task_.n_rows; row += n) {
      const Seen seen = seen_by(row, p, end);
      for (n = 1; row + n < task_.n_rows && seen_by(row + n, p, end) == seen;) ++n;
      weigh_alike(to_head, row * group_, n * group_, seen);
    }
    for (uint32_t i = 0; splits_ && i < n_queries_; ++i) split_row(scores(i), kKvPiece, halves_of_scores(i));
  }
  void weigh_alike(const AttentionSums& to_head, uint32_t first, uint32_t n_queries, Seen seen) const {
    float corrections[kMaxQueries];
    for (uint32_t i = first, n = 0; i < first + n_queries; i += n) {
      n = std::min<uint32_t>(kMaxQueries, first + n_queries - i);
      kernels_.softmax_piece(scores(i), n, seen.from, seen.to, op_.scale, op_.softcap, &to_head.states[i], corrections);
      for (uint32_t j = 0; j < n; ++j) correct(to_head, i + j, corrections[j]);
    }
  }
  void correct(const AttentionSums& to_head, uint32_t i, float correction) const {
    if (correction == 1.0f) return;
    for (uint32_t c = 0; c < padded_head_dim(op_.value_dim()); c += 32) {
      kernels_.scale(correction, to_head.values + size_t{c} * n_queries_ + size_t{i} * 32, 32);
    }
  }

  // Loads the values of the piece at p as tiles.
  void load_tiles(uint32_t h, uint32_t p, uint32_t end) const {
    const auto load = kernels_.load_values[static_cast<int>(cache_.type())];
    for_halves(p, end, [&](uint32_t pos, uint32_t n, uint32_t half) {
      if (op_.latent_dim > 0) return take_values(n, half);
      load(cache_.values(task_.blocks, op_.layer, kv_head(h), pos), cache_.value_bytes(op_.layer), n, op_.head_dim,
           values_.values + size_t{half} * kPanelRows);
    });
  }
  // Copies latent values of n positions of a half from the tiles of keys; other positions are zeroed.
  void take_values(uint32_t n, uint32_t half) const {
    const float* keys = keys_.values + size_t{half} * op_.head_dim;
    for (uint32_t c = 0; c < op_.latent_dim; c += kPanelRows) {
      float* to = values_.values + size_t{c} * kKvPiece + size_t{half} * kPanelRows;
      std::fill_n(to + size_t{n} * kPanelRows, (kPanelRows - n) * kPanelRows, 0.0f);
      const uint32_t n_cols = std::min(kPanelRows, op_.latent_dim - c);
      for (uint32_t i = 0; i < n; ++i) {
        for (uint32_t j = 0; j < n_cols; ++j) to[i * kPanelRows + j] = keys[size_t{c + j} * kPanelRows + i];
        std::fill(to + i * kPanelRows + n_cols, to + (i + 1) * kPanelRows, 0.0f);
      }
    }
  }

  // Adds the weighted values of the piece at p to the sums.
  void add_tiles(uint32_t h, uint32_t p, uint32_t end) const {
    load_tiles(h, p, end);
    for (uint32_t c = 0; splits_ && c < op_.value_dim(); c += kPanelRows) {
      split_tile(values_, size_t{c} * kKvPiece, kKvPiece);
    }
    const void* rows[kMaxQueries];
    for (uint32_t i = 0; i < n_queries_; i += kMaxQueries) {
      const uint32_t n = std::min<uint32_t>(kMaxQueries, n_queries_ - i);
      for (uint32_t j = 0; j < n; ++j) {
        rows[j] = splits_ ? static_cast<const void*>(halves_of_scores(i + j)) : scores(i + j);
      }
      for (uint32_t c = 0; c < op_.value_dim(); c += 32) {
        const size_t at0 = size_t{c} * kKvPiece, at1 = c + 16 < op_.value_dim() ? at0 + size_t{16} * kKvPiece : at0;
        multiply(values_, at0, at1, kKvPiece, rows, n, sums(h).values + size_t{c} * n_queries_ + size_t{i} * 32, false);
      }
    }
  }

  // add_tiles for few queries, directly from the cache.
  void add_vectors(uint32_t h, uint32_t p, uint32_t end) const {
    const auto add = kernels_.add_values[static_cast<int>(cache_.type())];
    for (uint32_t pos = p, n = 0; pos < end; pos += n) {
      n = std::min(end - pos, cache_.positions_left(pos));
      const uint8_t* values = cache_.values(task_.blocks, op_.layer, kv_head(h), pos);
      for (uint32_t i = 0; i < n_queries_; i += kMaxValueRows) {
        const uint32_t n_rows = std::min(kMaxValueRows, n_queries_ - i);
        const float* weights[kMaxValueRows];
        for (uint32_t j = 0; j < n_rows; ++j) weights[j] = scores(i + j) + (pos - p);
        add(values, cache_.value_bytes(op_.layer), n, op_.head_dim, weights, n_rows, sums(h).values + size_t{i} * 32,
            size_t{n_queries_} * 32);
      }
    }
  }

  const AttentionTask& task_;
  const AttentionOp& op_;
  const KernelTable& kernels_;
  const KvStore& cache_;
  float* memory_;   // the heads' sums
  uint32_t group_;  // queries per row and KV head
  uint32_t n_queries_;
  bool in_tiles_;      // latent values exist only in tiles
  bool splits_;        // products use bf16 halves
  Halved keys_;        // two tiles [head_dim, 16 positions]
  Halved values_;      // tiles [kKvPiece, 16 columns]
  Halved scores_;      // [queries, kKvPiece]
  uint16_t* queries_;  // [queries, 2, head_dim] halves
};

}  // namespace

size_t attention_scratch(const AttentionOp& op) {
  return 2 * (n_keys(op) + n_values(op) + n_scores(op)) + size_t{max_queries(op)} * op.head_dim;
}

void attend(const AttentionTask& task, const KernelTable& kernels, const KvStore& cache, float* sums, float* scratch) {
  Attention(task, kernels, cache, sums, scratch).run();
}

void merge(const AttentionOp& op, uint32_t n_queries, AttentionSums sums, AttentionSums later) {
  for (uint32_t i = 0; i < n_queries; ++i) {
    Softmax &a = sums.states[i], b = later.states[i];
    if (b.sum == 0) continue;
    const float max = std::max(a.max, b.max);
    const float scale_a = a.sum > 0 ? std::exp(a.max - max) : 0, scale_b = std::exp(b.max - max);
    a = {max, a.sum * scale_a + b.sum * scale_b};
    for (uint32_t c = 0; c < padded_head_dim(op.value_dim()); c += 32) {
      const size_t at = size_t{c} * n_queries + size_t{i} * 32;
      float* to = sums.values + at;
      const float* from = later.values + at;
      for (uint32_t j = 0; j < 32; ++j) to[j] = to[j] * scale_a + from[j] * scale_b;
    }
  }
}

void write_attention(const AttentionOp& op, uint32_t group, uint32_t n_rows, AttentionSums sums, const float* sinks,
                     float* out) {
  const uint32_t n_heads = group_of(op), n = n_rows * n_heads, dim = op.value_dim();
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t head = group * n_heads + i % n_heads;
    const auto [max, sum] = sums.states[i];
    const float scale = 1.0f / (sinks == nullptr ? sum : sum + std::exp(sinks[head] - max));
    float* to = out + (size_t{i / n_heads} * op.n_heads + head) * dim;
    for (uint32_t c = 0; c < dim; ++c) {
      to[c] = sums.values[size_t{c / 32} * n * 32 + size_t{i} * 32 + c % 32] * scale;
    }
  }
}

}  // namespace realizar::cpu
