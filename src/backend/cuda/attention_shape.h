// How the paged cache lies on the device, and how attention shares a long context among blocks of threads: both are
// functions of the layout and of positions alone.
#pragma once

#include <algorithm>
#include <bit>
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

// Attention of a long context is cut at fixed positions, and the cuts' results are merged in their order. The cuts of a
// decode row: every 256 positions in the first 4,096, every 512 up to 16,384, every 1,024 from there. So one sequence
// fills a GPU at short contexts, and there is little to merge at long ones. Those of a prompt's rows, for the few rows
// that a long conversation goes on with: every 2,048 up to 16,384, every 8,192 from there.
struct Positions {
  uint32_t first, end;
};
struct DecodeCuts {
  static constexpr uint32_t kLeast = 256, kMost = 1024;

  static constexpr uint32_t of(uint32_t pos) {
    if (pos < 4096) return pos / 256;
    if (pos < 16384) return 16 + (pos - 4096) / 512;
    return 40 + (pos - 16384) / 1024;
  }
  static constexpr uint32_t begin(uint32_t cut) {
    if (cut < 16) return cut * 256;
    if (cut < 40) return 4096 + (cut - 16) * 512;
    return 16384 + (cut - 40) * 1024;
  }
};
struct PromptCuts {
  static constexpr uint32_t kLeast = 2048;

  static constexpr uint32_t of(uint32_t pos) { return pos < 16384 ? pos / 2048 : 8 + (pos - 16384) / 8192; }
  static constexpr uint32_t begin(uint32_t cut) { return cut < 8 ? cut * 2048 : 16384 + (cut - 8) * 8192; }
};
static_assert(DecodeCuts::of(4095) == 15 && DecodeCuts::of(4096) == 16 && DecodeCuts::begin(16) == 4096);
static_assert(DecodeCuts::of(16383) == 39 && DecodeCuts::of(16384) == 40 && DecodeCuts::begin(40) == 16384);
static_assert(PromptCuts::of(16383) == 7 && PromptCuts::of(16384) == 8 && PromptCuts::begin(8) == 16384);

// What a row at `pos` sees begins here; a window of 0 has no end.
constexpr uint32_t first_visible(uint32_t pos, uint32_t window) {
  return window > 0 && pos >= window ? pos + 1 - window : 0;
}
// How many cuts it sees a part of.
template <class Cuts>
constexpr uint32_t n_cuts_of(uint32_t pos, uint32_t window) {
  return Cuts::of(pos) - Cuts::of(first_visible(pos, window)) + 1;
}
// The most for any row up to `last_pos`, rounded up to a power of two, so that a recorded launch lasts while contexts
// grow. What lies in a window may begin anywhere in a cut.
template <class Cuts>
constexpr uint32_t max_cuts(uint32_t last_pos, uint32_t window) {
  const uint32_t n_all = std::bit_ceil(Cuts::of(last_pos) + 1);
  if (window == 0 || window > last_pos) return n_all;
  return std::min(n_all, std::bit_ceil((window + Cuts::kLeast - 2) / Cuts::kLeast + 1));
}

// What rows of several cuts need, the same memory for both. Decode: partial results, [n_rows, n_kv_heads, parts of
// their query heads, n_cuts, kPartHeads] of [dims | maximum, sum], and a counter for each but the cuts. Prompt: partial
// results, [n_rows, n_heads, n_cuts] of the same.
struct AttentionScratch {
  size_t n_partials, n_arrivals;  // floats, words
};
AttentionScratch decode_scratch(const KvLayout& layout, uint32_t n_heads, uint32_t n_rows, uint32_t n_cuts);
AttentionScratch prompt_scratch(const KvLayout& layout, uint32_t n_heads, uint32_t n_rows, uint32_t n_cuts);

// A head's dimensions as attention's registers hold them.
constexpr uint32_t dim_class(uint32_t head_dim) {
  return head_dim <= 64 ? 64 : head_dim <= 128 ? 128 : kMaxHeadDim;
}

}  // namespace realizar::cuda
