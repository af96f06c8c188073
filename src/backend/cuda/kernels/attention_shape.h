// How the paged cache lies on the device, and how attention shares a long context among blocks of threads: both are
// functions of the layout and of positions alone.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/backend.h"
#include "backend/ops.h"

namespace realizar::cuda {

inline constexpr uint32_t kMaxHeadDim = 256;      // that tiles and cuts of decode rows have in their registers
inline constexpr uint32_t kMaxWideHeadDim = 512;  // of heads that are attended to as latents are
// Of latents, whose values are the first numbers of their keys.
inline constexpr uint32_t kMaxLatentDim = 512, kMaxLatentKeyDim = 576;
inline constexpr uint32_t kPartHeads = 8;        // query heads of a KV head that a decode row's block serves
inline constexpr uint32_t kPromptTileRows = 64;  // prompt rows of one sequence that share blocks

// A layer's cache: of keys and of values [n_blocks] parts of block_bytes each, which begin with [n_kv_heads] pages of
// [block_tokens] rows, then [block_tokens] rows of scales. A row holds a head's elements of one position, and zeros up
// to a multiple of 16 bytes; for Q8_0 it holds their codes, and the scales, F16, stand one for 32 of them. Where a
// layer keeps no values, `values` are its keys: a value is the first numbers of a key.
struct KvView {
  uint8_t *keys, *values;
  uint32_t n_kv_heads, head_dim, block_tokens;
  uint32_t row_bytes, scale_bytes, page_bytes, block_bytes;
  KvType type;
};
// The address of a page counts in these, in 32 bits.
inline constexpr uint32_t kPageUnit = 16;
// Pages and rows are 16-byte aligned, a row of scales to its own size. block_bytes: as much as the pages take, where
// layers of other widths do not want more.
KvView kv_view(const KvLayout& layout);

// A block of one layer's keys, or values, as numbers: head h of position p goes to out[p * stride + h * head_dim].
void decode_kv_block(const KvLayout& layout, std::span<const uint8_t> block, std::span<float> out, size_t stride);

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

// A window of positions as kernels have it: 0 for none, with a bit where it begins anew at each of its multiples, and
// one for bidirectional attention.
inline constexpr uint32_t kChunkedWindow = 1u << 31, kBidirectional = 1u << 30;
constexpr uint32_t window_of(const AttentionOp& op) {
  return op.window | (op.is_chunked && op.window > 0 ? kChunkedWindow : 0) | (op.is_bidirectional ? kBidirectional : 0);
}
constexpr uint32_t n_positions_of(uint32_t window) {
  return window & ~(kChunkedWindow | kBidirectional);
}
// What a row at `pos` sees begins here.
constexpr uint32_t first_visible(uint32_t pos, uint32_t window) {
  const uint32_t n_positions = n_positions_of(window);
  if ((window & kChunkedWindow) != 0) return pos - pos % n_positions;
  return n_positions > 0 && pos >= n_positions ? pos + 1 - n_positions : 0;
}
// And ends here, of a sequence whose last position is last_pos.
constexpr uint32_t last_visible(uint32_t pos, uint32_t last_pos, uint32_t window) {
  if ((window & kBidirectional) == 0) return pos;
  const uint32_t n_positions = n_positions_of(window);
  return n_positions == 0 || last_pos - pos < n_positions ? last_pos : pos + n_positions - 1;
}
// How many cuts positions from the first to the last lie in, and those that a decode row sees.
template <class Cuts>
constexpr uint32_t n_cuts_between(uint32_t first_pos, uint32_t last_pos) {
  return Cuts::of(last_pos) - Cuts::of(first_pos) + 1;
}
template <class Cuts>
constexpr uint32_t n_cuts_of(uint32_t pos, uint32_t window) {
  return n_cuts_between<Cuts>(first_visible(pos, window), pos);
}
// The most for any row up to `last_pos`. What lies in a window may begin anywhere in a cut.
template <class Cuts>
constexpr uint32_t max_cuts(uint32_t last_pos, uint32_t window) {
  const uint32_t n_sides = (window & kBidirectional) != 0 ? 2 : 1;
  const uint32_t n_all = Cuts::of(last_pos) + 1, n_seen = n_sides * n_positions_of(window);
  if (n_seen == 0 || n_seen > last_pos) return n_all;
  return std::min(n_all, (n_seen + Cuts::kLeast - 2) / Cuts::kLeast + 1);
}

// A block's part of a decode row's context: cuts are counted from the first that the row sees.
struct RowCut {
  uint32_t row, cut;
};
inline constexpr uint32_t kNoRow = 0xffffffffu;  // a place of a list that nobody has

// A head's dimensions as attention's registers hold them; those of wide ones in panels of 64.
constexpr uint32_t dim_class(uint32_t head_dim) {
  if (head_dim > kMaxHeadDim) return (head_dim + 63) / 64 * 64;
  return head_dim <= 64 ? 64 : head_dim <= 128 ? 128 : kMaxHeadDim;
}

// Rows of several cuts leave partial results, [heads] of [dims | maximum, sum] a cut, until they are merged. The memory
// for them is bounded, whatever the batch: what finds no place in it waits for the next pass over the same memory.
// Passes change no bits.
inline constexpr uint64_t kPartialBytes = uint64_t{64} << 20;

// Whether rows are attended to one by one: latents, and heads that are too wide for tiles.
constexpr bool is_wide(const AttentionOp& op) {
  return op.latent_dim > 0 || op.head_dim > kMaxHeadDim;
}

struct AttentionHeads {
  uint32_t n_heads, value_dim;
  bool has_tiles = true;  // of a prompt's rows; wide ones are attended to row by row
};
inline constexpr AttentionHeads kNoHeads{0, 0, false};
// With those of one more operation.
inline AttentionHeads most_of(const AttentionHeads& heads, const AttentionOp& op) {
  return {std::max(heads.n_heads, op.n_heads), std::max(heads.value_dim, op.value_dim()),
          heads.has_tiles || !is_wide(op)};
}
// A pass of decode rows has n_places places for pairs of a row and a cut, enough for two rows at least.
struct DecodePasses {
  uint32_t max_cuts = 1;  // of a row
  uint64_t n_places = 1;  // of a pass

  bool operator==(const DecodePasses&) const = default;
  // The places of all passes that rows with n_cuts cuts together may need: a pass ends where the next row does not fit.
  uint64_t all_places(uint64_t n_cuts) const {
    return n_cuts <= n_places ? n_cuts : (n_cuts + n_places - max_cuts) / (n_places - max_cuts + 1) * n_places;
  }
};
// The most places that a list of cuts has in steps of at most max_rows rows, those of recorded steps rounded up.
inline uint64_t max_row_cuts(const DecodePasses& passes, uint32_t max_rows) {
  return passes.all_places(std::bit_ceil(uint64_t{max_rows} * std::max(2u, passes.max_cuts)));
}
// n_positions: of the longest context.
DecodePasses decode_passes(const AttentionHeads& heads, uint32_t n_positions, uint64_t partial_bytes);
// The most cuts of tiles of a prompt's rows that a pass takes, at least those of one tile. Rows that are in no tiles
// have the places of decode rows, which have more cuts.
uint64_t pass_tile_cuts(const AttentionHeads& heads, uint32_t n_positions, uint64_t partial_bytes);
// What the partial results of both take, for steps within these limits.
uint64_t partials_bytes(const AttentionHeads& heads, const BackendLimits& limits, uint32_t n_positions,
                        uint64_t partial_bytes);

}  // namespace realizar::cuda
