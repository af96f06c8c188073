#include "backend/cuda/kernels/attention_shape.h"

#include <cstring>

#include "backend/kv_types.h"
#include "quant/blocks.h"
#include "quant/half.h"

namespace realizar::cuda {
namespace {

uint32_t padded(size_t n_bytes) {
  return static_cast<uint32_t>((n_bytes + kPageUnit - 1) / kPageUnit * kPageUnit);
}

// Partial results of one row and cut.
uint64_t partial_bytes_of(const AttentionHeads& heads) {
  return uint64_t{heads.n_heads} * (dim_class(heads.value_dim) + 2) * sizeof(float);
}

// Codes are signed nibbles, two neighbours per byte.
void decode_q4_row(const KvView& view, const uint8_t* codes, const uint8_t* scales, float* to) {
  for (uint32_t i = 0; i < view.head_dim; ++i) {
    Half d;
    std::memcpy(&d, scales + i / 32 * sizeof d, sizeof d);
    const int code = (codes[i / 2] >> (4 * (i % 2))) & 15;
    to[i] = fp16_to_float(d) * static_cast<float>(code < 8 ? code : code - 16);
  }
}

// Decodes a head's vector at one position, F32 [head_dim].
void decode_kv_row(const KvView& view, const uint8_t* page, uint32_t row, float* to) {
  const uint8_t* codes = page + size_t{row} * view.row_bytes;
  if (view.scale_bytes == 0) {
    return kv_traits(view.type).decode(reinterpret_cast<const std::byte*>(codes), to, view.head_dim);
  }
  const uint8_t* scales = page + size_t{view.block_tokens} * view.row_bytes + size_t{row} * view.scale_bytes;
  if (view.type == KvType::kQ4_0) return decode_q4_row(view, codes, scales, to);
  for (uint32_t i = 0; i < view.head_dim; i += 32) {
    BlockQ8_0 block;
    std::memcpy(&block.d, scales + i / 32 * sizeof block.d, sizeof block.d);
    std::memcpy(block.qs, codes + i, sizeof block.qs);
    kv_traits(view.type).decode(reinterpret_cast<const std::byte*>(&block), to + i, 32);
  }
}

}  // namespace

KvView kv_view(const KvLayout& layout) {
  KvView view{};
  view.n_kv_heads = layout.n_kv_heads;
  view.head_dim = layout.head_dim;
  view.block_tokens = layout.block_tokens;
  const bool is_q4 = layout.type == KvType::kQ4_0, has_scales = is_q4 || layout.type == KvType::kQ8_0;
  view.row_bytes = is_q4        ? layout.head_dim / 2
                   : has_scales ? layout.head_dim
                                : padded(row_bytes(kv_traits(layout.type), layout.head_dim));
  view.scale_bytes = has_scales ? dim_class(layout.head_dim) / 32 * 2 : 0;
  view.page_bytes = padded(size_t{layout.block_tokens} * (view.row_bytes + view.scale_bytes));
  view.block_bytes = layout.n_kv_heads * view.page_bytes;
  view.type = layout.type;
  return view;
}

void decode_kv_block(const KvLayout& layout, std::span<const uint8_t> block, std::span<float> out, size_t stride) {
  const KvView view = kv_view(layout);
  for (uint32_t head = 0; head < layout.n_kv_heads; ++head) {
    const uint8_t* page = block.data() + size_t{head} * view.page_bytes;
    for (uint32_t row = 0; row < layout.block_tokens; ++row) {
      decode_kv_row(view, page, row, out.data() + row * stride + size_t{head} * layout.head_dim);
    }
  }
}

DecodePasses decode_passes(const AttentionHeads& heads, uint32_t n_positions, uint64_t partial_bytes) {
  const uint32_t n_cuts = max_cuts<DecodeCuts>(n_positions - 1, 0);
  return {n_cuts, std::max<uint64_t>(2 * n_cuts, partial_bytes / partial_bytes_of(heads))};
}

uint64_t pass_tile_cuts(const AttentionHeads& heads, uint32_t n_positions, uint64_t partial_bytes) {
  const uint64_t n_cuts = max_cuts<PromptCuts>(n_positions - 1, 0);
  return std::max(n_cuts, partial_bytes / (kPromptTileRows * partial_bytes_of(heads)));
}

uint64_t partials_bytes(const AttentionHeads& heads, const BackendLimits& limits, uint32_t n_positions,
                        uint64_t partial_bytes) {
  const DecodePasses passes = decode_passes(heads, n_positions, partial_bytes);
  if (passes.max_cuts == 1) return 0;
  const uint64_t n_places = std::min(passes.n_places, uint64_t{limits.max_rows} * passes.max_cuts);
  if (!heads.has_tiles) return n_places * partial_bytes_of(heads);
  const uint64_t max_tiles = limits.max_rows / kPromptTileRows + std::max(1u, limits.max_seqs);
  const uint64_t prompt_cuts = max_cuts<PromptCuts>(n_positions - 1, 0);
  const uint64_t n_tile_cuts =
      prompt_cuts == 1 ? 0 : std::min(pass_tile_cuts(heads, n_positions, partial_bytes), max_tiles * prompt_cuts);
  return std::max(n_places, n_tile_cuts * kPromptTileRows) * partial_bytes_of(heads);
}

}  // namespace realizar::cuda
