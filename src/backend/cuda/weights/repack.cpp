#include "backend/cuda/weights/repack.h"

#include <cstring>

#include "quant/groups.h"
#include "quant/type_table.h"
#include "quant/types.h"

namespace realizar::cuda {
namespace {

// Writes bits [shift, shift + bits) of a group's codes: word w has those of columns 4(w + k bits).. at bit k bits of
// its bytes.
void put_words(const uint32_t* fours, int bits, int shift, std::byte* to) {
  const uint32_t mask = 0x01010101u * ((1u << bits) - 1);
  for (int w = 0; w < bits; ++w) {
    uint32_t word = 0;
    for (int k = 0; k < 8 / bits; ++k) word |= ((fours[w + k * bits] >> shift) & mask) << (k * bits);
    std::memcpy(to + 4 * w, &word, sizeof word);
  }
}

void put_group(const GroupForm& form, const Group& group, uint32_t g, const PlaneRow& to) {
  uint32_t fours[8];
  std::memcpy(fours, group.codes, sizeof fours);
  put_words(fours, form.low, 0, to.low + size_t{4} * g * static_cast<size_t>(form.low));
  if (form.high > 0) {
    put_words(fours, form.high, form.low, to.high + size_t{4} * g * static_cast<size_t>(form.high));
  }
  const uint16_t header[2] = {group.d, group.m};
  const size_t n_headers = form.has_min ? 2 : 1;
  const size_t header_idx = form.scales == Scales::kSuper ? g / 8 : g;
  if (form.scales != Scales::kE4M3) {
    std::memcpy(to.headers + 2 * n_headers * header_idx, header, 2 * n_headers);
  }
  if (form.scales != Scales::kSuper && form.scales != Scales::kE4M3) return;
  const auto n_subs = kGroupCols / static_cast<size_t>(form.sub);
  std::byte* scales = to.scales + g * n_subs * n_headers;
  std::memcpy(scales, group.scale, n_subs);
  if (form.has_min) std::memcpy(scales + n_subs, group.min, n_subs);
}

template <class Row>
void put_block(const std::byte* row, uint32_t b, const PlaneRow& to) {
  constexpr uint32_t kGroups = Row::kElems / kGroupCols;
  const auto block = block_of<Row>(row, b);
  for (uint32_t g = 0; g < kGroups; ++g) {
    put_group(Row::kForm, read_group(block, static_cast<int>(g)), b * kGroups + g, to);
  }
}

PlaneBytes group_plane_bytes(const GroupForm& form, size_t n_groups) {
  const size_t n_headers = form.has_min ? 2 : 1;
  const bool is_super = form.scales == Scales::kSuper, has_row_factor = form.scales == Scales::kE4M3;
  return {n_groups * 4 * static_cast<size_t>(form.low), n_groups * 4 * static_cast<size_t>(form.high),
          has_row_factor ? sizeof(float) : (is_super ? n_groups / 8 : n_groups) * 2 * n_headers,
          is_super || has_row_factor ? n_groups * (kGroupCols / static_cast<size_t>(form.sub)) * n_headers : 0};
}

}  // namespace

PlaneBytes plane_bytes(TypeId type, uint32_t n_cols) {
  const size_t n_groups = (n_cols + kGroupCols - 1) / kGroupCols;
  switch (layout_of(type)) {
    case Layout::kPlain:
      return {n_groups * kGroupCols * traits(type).block_bytes, 0,
              type == TypeId::kF8_E4M3 ? f8_n_scales(n_cols) * sizeof(float) : 0, 0};
    case Layout::kGroups:
      return group_plane_bytes(form_of(type), n_groups);
    case Layout::kStored:
      return {row_bytes(traits(type), n_cols), 0, 0, 0};
  }
  return {};
}

void repack_row(TypeId type, const std::byte* row, uint32_t n_cols, const float* scales, const PlaneRow& to) {
  with_row(type, [&]<class Row>(Row) {
    if constexpr (Row::kLayout == Layout::kGroups) {
      for (uint32_t b = 0; b < n_cols / Row::kElems; ++b) put_block<Row>(row, b, to);
      if constexpr (Row::kForm.scales == Scales::kE4M3) {
        const float factor = (scales == nullptr ? 1.0f : *scales) / Row::kForm.divisor;
        std::memcpy(to.headers, &factor, sizeof factor);
      }
    }
  });
}

}  // namespace realizar::cuda
