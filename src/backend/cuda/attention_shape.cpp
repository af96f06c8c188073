#include "backend/cuda/attention_shape.h"

#include "backend/kv_types.h"

namespace realizar::cuda {
namespace {

uint32_t padded(size_t n_bytes) {
  return static_cast<uint32_t>((n_bytes + 15) / 16 * 16);
}

}  // namespace

KvView kv_view(const KvLayout& layout, uint8_t* keys, uint8_t* values) {
  KvView view{};
  view.keys = keys;
  view.values = values;
  view.n_kv_heads = layout.n_kv_heads;
  view.head_dim = layout.head_dim;
  view.block_tokens = layout.block_tokens;
  const bool has_scales = layout.type == KvType::kQ8_0;
  view.row_bytes = has_scales ? layout.head_dim : padded(row_bytes(kv_traits(layout.type), layout.head_dim));
  view.scale_bytes = has_scales ? dim_class(layout.head_dim) / 32 * 2 : 0;
  view.page_bytes = padded(size_t{layout.block_tokens} * (view.row_bytes + view.scale_bytes));
  view.type = layout.type;
  return view;
}

AttentionScratch decode_scratch(const KvLayout& layout, uint32_t n_heads, uint32_t n_rows, uint32_t n_cuts) {
  if (n_cuts <= 1) return {0, 0};
  const uint32_t n_rep = n_heads / layout.n_kv_heads;
  const size_t n_parts = size_t{n_rows} * layout.n_kv_heads * ((n_rep + kPartHeads - 1) / kPartHeads);
  return {n_parts * n_cuts * kPartHeads * (dim_class(layout.head_dim) + 2), n_parts};
}

AttentionScratch prompt_scratch(const KvLayout& layout, uint32_t n_heads, uint32_t n_rows, uint32_t n_cuts) {
  if (n_cuts <= 1) return {0, 0};
  return {size_t{n_rows} * n_heads * n_cuts * (dim_class(layout.head_dim) + 2), 0};
}

}  // namespace realizar::cuda
