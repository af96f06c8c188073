// How the paged cache lies on the device, and how attention shares a long context among blocks of threads: both are
// functions of the layout and of positions alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/backend.h"

namespace realizar::cuda {

inline constexpr uint32_t kMaxHeadDim = 256;
inline constexpr uint32_t kPartHeads = 8;        // query heads of a KV head that a decode row's block serves
inline constexpr uint32_t kPromptTileRows = 64;  // prompt rows of one sequence that share blocks

// A layer's cache: of keys and of values [n_blocks, n_kv_heads] pages, each [block_tokens] rows, then [block_tokens]
// rows of scales. A row holds a head's elements of one position, and zeros up to a multiple of 16 bytes; for Q8_0 it
// holds their codes, and the scales, F16, stand one for 32 of them.
struct KvView {
  uint8_t *keys, *values;
  uint32_t n_kv_heads, head_dim, block_tokens;
  uint32_t row_bytes, scale_bytes, page_bytes;
  KvType type;
};
// Pages and rows are 16-byte aligned, a row of scales to its own size.
KvView kv_view(const KvLayout& layout, uint8_t* keys, uint8_t* values);

// Attention of a decode row is split at fixed positions: every 256 in the first 4,096, every 512 up to 16,384, every
// 1,024 from there. So one sequence fills a GPU at short contexts, and there is little to merge at long ones.
struct SplitRange {
  uint32_t first_pos, end_pos;
};
inline constexpr uint32_t kMaxSplitPositions = 1024;
constexpr uint32_t split_of(uint32_t pos) {
  if (pos < 4096) return pos / 256;
  if (pos < 16384) return 16 + (pos - 4096) / 512;
  return 40 + (pos - 16384) / 1024;
}
constexpr SplitRange split_range(uint32_t split) {
  if (split < 16) return {split * 256, (split + 1) * 256};
  if (split < 40) return {4096 + (split - 16) * 512, 4096 + (split - 15) * 512};
  return {16384 + (split - 40) * 1024, 16384 + (split - 39) * 1024};
}
static_assert(split_of(4095) == 15 && split_of(4096) == 16 && split_range(16).first_pos == 4096);
static_assert(split_of(16383) == 39 && split_of(16384) == 40 && split_range(40).first_pos == 16384);

// What a row at `pos` sees begins here; a window of 0 has no end.
constexpr uint32_t first_visible(uint32_t pos, uint32_t window) {
  return window > 0 && pos >= window ? pos + 1 - window : 0;
}
constexpr uint32_t n_splits_of(uint32_t pos, uint32_t window) {
  return split_of(pos) - split_of(first_visible(pos, window)) + 1;
}

// What decode rows of more than one split need: [n_rows, n_kv_heads, parts of their query heads, n_splits] partial
// results, each [kPartHeads] of [dims | maximum, sum], and a counter for each but the splits.
struct AttentionScratch {
  size_t n_partials, n_arrivals;  // floats, words
};
AttentionScratch attention_scratch(const KvLayout& layout, uint32_t n_heads, uint32_t n_rows, uint32_t n_splits);

// A head's dimensions as attention's registers hold them.
constexpr uint32_t dim_class(uint32_t head_dim) {
  return head_dim <= 64 ? 64 : head_dim <= 128 ? 128 : kMaxHeadDim;
}

}  // namespace realizar::cuda
