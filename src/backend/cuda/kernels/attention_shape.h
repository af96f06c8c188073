// Layout of the paged cache on the device, and the division of long contexts among blocks of threads: both are
// functions of the layout and of positions only.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/backend.h"
#include "backend/ops.h"

namespace realizar::cuda {

inline constexpr uint32_t kMaxHeadDim = 256;      // limit of kernels with a head in registers
inline constexpr uint32_t kMaxWideHeadDim = 512;  // limit of heads with the kernel for latents
// Latents, whose values are the first elements of their keys.
inline constexpr uint32_t kMaxLatentDim = 512, kMaxLatentKeyDim = 576;
inline constexpr uint32_t kPartHeads = 8;        // query heads of a KV head per block of a decode row
inline constexpr uint32_t kPromptTileRows = 64;  // prompt rows of one sequence that share blocks

// A layer's cache: for keys and for values [n_blocks] parts of block_bytes each, which begin with [n_kv_heads] pages of
// [block_tokens] rows, then [block_tokens] rows of scales. A row holds a head's elements at one position, padded with
// zeros to a multiple of 16 bytes; for Q8_0 it holds their codes, with one F16 scale per 32 of them. If a layer keeps
// no values, `values` are its keys: a value is the first elements of a key.
struct KvView {
  uint8_t *keys, *values;
  uint32_t n_kv_heads, head_dim, block_tokens;
  uint32_t row_bytes, scale_bytes, page_bytes, block_bytes;
  KvType type;
};
// Unit of page addresses, which have 32 bits.
inline constexpr uint32_t kPageUnit = 16;
// Pages and rows are 16-byte aligned, a row of scales to its own size. block_bytes: the size of the pages, unless
// layers of other widths need more.
KvView kv_view(const KvLayout& layout);

// Decodes a block of one layer's keys, or values: head h of position p goes to out[p * stride + h * head_dim].
void decode_kv_block(const KvLayout& layout, std::span<const uint8_t> block, std::span<float> out, size_t stride);

// Attention over a long context is cut at fixed positions (split KV), and the cuts' results are merged in order. Decode
// rows have cuts every 256 positions in the first 4,096, every 512 up to 16,384, and every 1,024 from there, so that
// one sequence fills a GPU at short contexts, and there is little to merge at long ones. Prompt rows, which are few
// when a long conversation continues, have cuts every 2,048 up to 16,384, and every 8,192 from there.
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

// A window of positions in kernels: 0 for none, with one bit if it restarts at each of its multiples, and one if prompt
// rows attend to later positions too.
inline constexpr uint32_t kChunkedWindow = 1u << 31, kBidirectional = 1u << 30;
constexpr uint32_t window_of(const AttentionOp& op) {
  return op.window | (op.is_chunked && op.window > 0 ? kChunkedWindow : 0) | (op.is_bidirectional ? kBidirectional : 0);
}
constexpr uint32_t n_positions_of(uint32_t window) {
  return window & ~(kChunkedWindow | kBidirectional);
}
// The first position that a row at `pos` attends to.
constexpr uint32_t first_visible(uint32_t pos, uint32_t window) {
  const uint32_t n_positions = n_positions_of(window);
  if ((window & kChunkedWindow) != 0) return pos - pos % n_positions;
  return n_positions > 0 && pos >= n_positions ? pos + 1 - n_positions : 0;
}
// The last one, in a sequence whose last position is last_pos.
constexpr uint32_t last_visible(uint32_t pos, uint32_t last_pos, uint32_t window) {
  if ((window & kBidirectional) == 0) return pos;
  const uint32_t n_positions = n_positions_of(window);
  return n_positions == 0 || last_pos - pos < n_positions ? last_pos : pos + n_positions - 1;
}
// Number of cuts that positions first_pos to last_pos are in, and number that a decode row attends to.
template <class Cuts>
constexpr uint32_t n_cuts_between(uint32_t first_pos, uint32_t last_pos) {
  return Cuts::of(last_pos) - Cuts::of(first_pos) + 1;
}
template <class Cuts>
constexpr uint32_t n_cuts_of(uint32_t pos, uint32_t window) {
  return n_cuts_between<Cuts>(first_visible(pos, window), pos);
}
// The maximum for any row up to `last_pos`. A window may begin anywhere in a cut.
template <class Cuts>
constexpr uint32_t max_cuts(uint32_t last_pos, uint32_t window) {
  const uint32_t n_sides = (window & kBidirectional) != 0 ? 2 : 1;
  const uint32_t n_all = Cuts::of(last_pos) + 1, n_seen = n_sides * n_positions_of(window);
  if (n_seen == 0 || n_seen > last_pos) return n_all;
  return std::min(n_all, (n_seen + Cuts::kLeast - 2) / Cuts::kLeast + 1);
}

// A block's part of a decode row's context; cuts are relative to the row's first one.
struct RowCut {
  uint32_t row, cut;
};
inline constexpr uint32_t kNoRow = 0xffffffffu;  // an unused list entry

// A head's dimensions in attention's registers; wide heads are in panels of 64.
constexpr uint32_t dim_class(uint32_t head_dim) {
  if (head_dim > kMaxHeadDim) return (head_dim + 63) / 64 * 64;
  return head_dim <= 64 ? 64 : head_dim <= 128 ? 128 : kMaxHeadDim;
}

// Rows with several cuts store partial results, [heads] of [dims | maximum, sum] per cut, until they are merged. Their
// memory is bounded for any batch: results that do not fit wait for the next pass over it. Passes do not change bits.
inline constexpr uint64_t kPartialBytes = uint64_t{64} << 20;

// Whether rows are attended to one by one: latents, and heads too wide for tiles.
constexpr bool is_wide(const AttentionOp& op) {
  return op.latent_dim > 0 || op.head_dim > kMaxHeadDim;
}

struct AttentionHeads {
  uint32_t n_heads, value_dim;
  bool has_tiles = true;  // of prompt rows; wide heads are attended to row by row
};
inline constexpr AttentionHeads kNoHeads{0, 0, false};
// The maximum with one more operation.
inline AttentionHeads most_of(const AttentionHeads& heads, const AttentionOp& op) {
  return {std::max(heads.n_heads, op.n_heads), std::max(heads.value_dim, op.value_dim()),
          heads.has_tiles || !is_wide(op)};
}
// A pass of decode rows has n_places slots for pairs of a row and a cut, enough for at least two rows.
struct DecodePasses {
  uint32_t max_cuts = 1;  // per row
  uint64_t n_places = 1;  // per pass

  bool operator==(const DecodePasses&) const = default;
  // Slots in all passes for rows with n_cuts cuts together: a pass ends where the next row does not fit.
  uint64_t all_places(uint64_t n_cuts) const {
    return n_cuts <= n_places ? n_cuts : (n_cuts + n_places - max_cuts) / (n_places - max_cuts + 1) * n_places;
  }
};
// Maximum length of a cut list in steps of at most max_rows rows, rounded up for recorded steps.
inline uint64_t max_row_cuts(const DecodePasses& passes, uint32_t max_rows) {
  return passes.all_places(std::bit_ceil(uint64_t{max_rows} * std::max(2u, passes.max_cuts)));
}
// n_positions: in the longest context.
DecodePasses decode_passes(const AttentionHeads& heads, uint32_t n_positions, uint64_t partial_bytes);
// Maximum number of prompt tiles' cuts per pass, at least those of one tile. Rows outside tiles use the slots of decode
// rows, which have more cuts.
uint64_t pass_tile_cuts(const AttentionHeads& heads, uint32_t n_positions, uint64_t partial_bytes);
// Size of the partial results of both, for steps within these limits.
uint64_t partials_bytes(const AttentionHeads& heads, const BackendLimits& limits, uint32_t n_positions,
                        uint64_t partial_bytes);

}  // namespace realizar::cuda
