#include "backend/cpu/scratch.h"

#include <algorithm>

#include "base/try.h"

namespace realizar::cpu {
namespace {

Status grow(Pages& pages, size_t n_bytes) {
  if (pages.size() >= n_bytes) return {};
  RZ_TRY(pages, Pages::allocate(n_bytes));
  return {};
}

Status grow(PreparedRows& rows, size_t n_rows, uint32_t n_cols) {
  const auto n = static_cast<uint32_t>(n_rows);
  return n_cols == 0 || rows.fits(n, n_cols) ? Status() : rows.reserve(n, n_cols);
}

}  // namespace

Status Scratch::fit(const ScratchSizes& sizes) {
  sizes_ = larger(sizes_, sizes);
  const size_t max_rows = limits_.max_rows, n_slots = max_rows * sizes_.n_used;
  RZ_CHECK_OK(grow(activations_, sizes_.activation_bytes));
  RZ_CHECK_OK(grow(rotations_, max_rows * sizes_.rotation_cols * sizeof(float)));
  RZ_CHECK_OK(grow(parts_, sizes_.part_floats * sizeof(float)));
  RZ_CHECK_OK(grow(hidden_, n_slots * sizes_.hidden_cols * sizeof(float)));
  RZ_CHECK_OK(grow(partial_, n_slots * sizes_.expert_cols * sizeof(float)));
  RZ_CHECK_OK(grow(prepared_, n_rows(), sizes_.prepared_cols));
  RZ_CHECK_OK(grow(prepared_hidden_, n_slots, sizes_.prepared_hidden_cols));
  RZ_CHECK_OK(grow(joins_, sizes_.join_floats * sizeof(float)));
  const size_t n_head_slots = max_rows * sizes_.n_head_slots;
  RZ_CHECK_OK(grow(head_parts_, n_head_slots * sizes_.head_cols * sizeof(float)));
  RZ_CHECK_OK(grow(prepared_heads_, n_head_slots, sizes_.prepared_head_cols));
  for (Member& member : members_) {
    RZ_CHECK_OK(grow(member.products, kTileBytes + ProductScratch::gathered_bytes(kernels_, n_rows())));
    RZ_CHECK_OK(grow(member.sums, 2 * n_sums() * sizeof(float)));
    RZ_CHECK_OK(grow(member.attention, sizes_.attention_floats * sizeof(float)));
  }
  return {};
}

size_t Scratch::n_bytes() const {
  size_t n = prepared_.n_bytes() + prepared_hidden_.n_bytes() + prepared_heads_.n_bytes();
  for (const Pages* pages : {&activations_, &rotations_, &parts_, &hidden_, &partial_, &head_parts_, &joins_})
    n += pages->size();
  for (const Member& member : members_) n += member.products.size() + member.sums.size() + member.attention.size();
  return n;
}

}  // namespace realizar::cpu
