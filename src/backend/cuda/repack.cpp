#include "backend/cuda/repack.h"

#include <algorithm>
#include <cstring>

#include "quant/groups.h"

namespace realizar::cuda {
namespace {

#include "quant/group_form.inl"

// Bits [shift, shift + bits) of a group's codes: word w of `bits` has those of columns 4(w + k bits).. at bit k bits of
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
  std::memcpy(to.headers + 2 * n_headers * header_idx, header, 2 * n_headers);
  if (form.scales != Scales::kSuper) return;
  const auto n_subs = static_cast<size_t>(form.n_subs());
  std::byte* scales = to.scales + g * n_subs * n_headers;
  std::memcpy(scales, group.scale, n_subs);
  if (form.has_min) std::memcpy(scales + n_subs, group.min, n_subs);
}

struct Packing {
  TypeId type;
  Form form;
  GroupForm group;
  Group (*read)(const std::byte* row, uint32_t g);
};

constexpr Packing kPackings[] = {
    {TypeId::kQ4_0, Form::kQ4_0, kQ4_0Form, groups::read_nibbles<BlockQ4_0>},
    {TypeId::kQ4_1, Form::kQ4_1, kQ4_1Form, groups::read_nibbles<BlockQ4_1>},
    {TypeId::kQ5_0, Form::kQ5_0, kQ5_0Form, groups::read_nibbles<BlockQ5_0>},
    {TypeId::kQ5_1, Form::kQ5_1, kQ5_1Form, groups::read_nibbles<BlockQ5_1>},
    {TypeId::kQ8_0, Form::kQ8_0, kQ8_0Form, groups::read_q8_0},
    {TypeId::kIQ4_NL, Form::kIQ4_NL, kIQ4_NLForm, groups::read_nibbles<BlockIQ4_NL>},
    {TypeId::kMXFP4, Form::kMXFP4, kMXFP4Form, groups::read_mxfp4},
    {TypeId::kQ2_K, Form::kQ2_K, kQ2_KForm, groups::read_q2_k},
    {TypeId::kQ3_K, Form::kQ3_K, kQ3_KForm, groups::read_q3_k},
    {TypeId::kQ4_K, Form::kQ4_K, kQ4_KForm, groups::read_q45_k<BlockQ4_K>},
    {TypeId::kQ5_K, Form::kQ5_K, kQ5_KForm, groups::read_q45_k<BlockQ5_K>},
    {TypeId::kQ6_K, Form::kQ6_K, kQ6_KForm, groups::read_q6_k},
    {TypeId::kIQ4_XS, Form::kIQ4_XS, kIQ4_XSForm, groups::read_iq4_xs},
};

const Packing& packing_of(Form form) {
  return *std::ranges::find(kPackings, form, &Packing::form);
}

}  // namespace

std::optional<Form> form_of(TypeId type) {
  if (type == TypeId::kF32) return Form::kF32;
  if (type == TypeId::kF16) return Form::kF16;
  if (type == TypeId::kBF16) return Form::kBF16;
  if (type == TypeId::kF8_E4M3) return Form::kF8;
  const auto found = std::ranges::find(kPackings, type, &Packing::type);
  return found == std::end(kPackings) ? std::nullopt : std::optional(found->form);
}

bool is_plain(Form form) {
  return form <= Form::kF8;
}

PlaneBytes plane_bytes(Form form, uint32_t n_cols) {
  if (is_plain(form)) {
    const size_t n_groups = (n_cols + kGroupCols - 1) / kGroupCols;
    const size_t elem_bytes = form == Form::kF32 ? 4 : form == Form::kF8 ? 1 : 2;
    return {n_groups * kGroupCols * elem_bytes, 0, form == Form::kF8 ? f8_n_scales(n_cols) * sizeof(float) : 0, 0};
  }
  const GroupForm& group = packing_of(form).group;
  const size_t n_groups = n_cols / kGroupCols, n_headers = group.has_min ? 2 : 1;
  const bool is_super = group.scales == Scales::kSuper;
  return {n_groups * 4 * static_cast<size_t>(group.low), n_groups * 4 * static_cast<size_t>(group.high),
          (is_super ? n_groups / 8 : n_groups) * 2 * n_headers,
          is_super ? n_groups * static_cast<size_t>(group.n_subs()) * n_headers : 0};
}

void repack_row(Form form, const std::byte* row, uint32_t n_cols, const PlaneRow& to) {
  const Packing& packing = packing_of(form);
  for (uint32_t g = 0; g < n_cols / kGroupCols; ++g) put_group(packing.group, packing.read(row, g), g, to);
}

}  // namespace realizar::cuda
