// The types of stored tensors, one row each. Everything else about a type is found through its block's struct
// (blocks.h): value_of() in decode.inl, encode() in encode.inl and, if the row has a form, read_group() in groups.h.
// All lists of types are made from this one. Plain declarations only: files compiled for an instruction set include
// this header.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/blocks.h"
#include "quant/type_id.h"

namespace realizar {

enum class Scales : uint8_t {
  kHalf,   // F16 d (and m) per row and group
  kBf16,   // bf16 d per row and group
  kSuper,  // F16 d (and dmin) per row and 256 columns; 8-bit scale (and min) per row and sub-block
  kE4M3,   // E4M3 without sign per row and sub-block; F32 per row (MatrixSource.scales)
};

// Codes of kinds other than kPlain are indices of levels. If levels are signed separately, the sign is the highest bit.
enum class Codes : uint8_t { kPlain, kIq4, kE2M1, kSign, kIq1, kIq2, kIq3Xxs, kIq3S };

struct CodeLevels {
  int8_t level[16];
};

// The levels, multiplied by the form's divisor to make them integers.
constexpr CodeLevels levels_of(Codes codes) {
  switch (codes) {
    case Codes::kPlain:
      break;
    case Codes::kIq4:
      return {{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}};
    case Codes::kE2M1:
      return {{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}};
    case Codes::kSign:
      return {{-1, 1}};
    case Codes::kIq1:  // -1, 0 and 1, shifted by an eighth up or (highest bit) down
      return {{-7, 1, 9, 0, -9, -1, 7, 0}};
    case Codes::kIq2:
      return {{8, 25, 43, 0, -8, -25, -43, 0}};
    case Codes::kIq3Xxs:
      return {{2, 6, 10, 14, 18, 22, 26, 31, -2, -6, -10, -14, -18, -22, -26, -31}};
    case Codes::kIq3S:
      return {{1, 3, 5, 7, 9, 11, 13, 15, -1, -3, -5, -7, -9, -11, -13, -15}};
  }
  return {};
}

// The meaning of the codes of a group of 32 columns: value = scale / divisor * (code - offset) - min, where codes of
// kinds other than kPlain are first mapped to levels, plus the offset.
struct GroupForm {
  int low, high;  // bits of a code, in two planes; low is 0 if there is no form
  int offset;
  int max_code;
  Scales scales;
  int sub;  // columns per scale
  bool has_min;
  Codes codes;
  int divisor = 1;  // a power of two
};

// A block with one element belongs to a plain type. A type without a form is used as it is stored.
template <TypeId type_id, class BlockType, uint32_t n_elems, GroupForm group_form = GroupForm{}>
struct TypeRow {
  using Block = BlockType;
  static constexpr TypeId kId = type_id;
  static constexpr uint32_t kElems = n_elems;
  static constexpr GroupForm kForm = group_form;
  static constexpr Layout kLayout = n_elems == 1         ? Layout::kPlain
                                    : group_form.low > 0 ? Layout::kGroups
                                                         : Layout::kStored;
};

template <class... Rows>
struct TypeList {
  static constexpr size_t kSize = sizeof...(Rows);
};

// The types sorted by number. A form is {low, high, offset, max_code, scales, sub, has_min, codes, divisor}.
// clang-format off
using TypeRows = TypeList<
    TypeRow<TypeId::kF32, BlockF32, 1>,
    TypeRow<TypeId::kF16, BlockF16, 1>,
    TypeRow<TypeId::kQ4_0, BlockQ4_0, 32, GroupForm{4, 0, 8, 15, Scales::kHalf, 32, false, Codes::kPlain}>,
    TypeRow<TypeId::kQ4_1, BlockQ4_1, 32, GroupForm{4, 0, 0, 15, Scales::kHalf, 32, true, Codes::kPlain}>,
    TypeRow<TypeId::kQ5_0, BlockQ5_0, 32, GroupForm{4, 1, 16, 31, Scales::kHalf, 32, false, Codes::kPlain}>,
    TypeRow<TypeId::kQ5_1, BlockQ5_1, 32, GroupForm{4, 1, 0, 31, Scales::kHalf, 32, true, Codes::kPlain}>,
    TypeRow<TypeId::kQ8_0, BlockQ8_0, 32, GroupForm{8, 0, 128, 255, Scales::kHalf, 32, false, Codes::kPlain}>,
    TypeRow<TypeId::kQ2_K, BlockQ2_K, 256, GroupForm{2, 0, 0, 3, Scales::kSuper, 16, true, Codes::kPlain}>,
    TypeRow<TypeId::kQ3_K, BlockQ3_K, 256, GroupForm{2, 1, 4, 7, Scales::kSuper, 16, false, Codes::kPlain}>,
    TypeRow<TypeId::kQ4_K, BlockQ4_K, 256, GroupForm{4, 0, 0, 15, Scales::kSuper, 32, true, Codes::kPlain}>,
    TypeRow<TypeId::kQ5_K, BlockQ5_K, 256, GroupForm{4, 1, 0, 31, Scales::kSuper, 32, true, Codes::kPlain}>,
    TypeRow<TypeId::kQ6_K, BlockQ6_K, 256, GroupForm{4, 2, 32, 63, Scales::kSuper, 16, false, Codes::kPlain}>,
    TypeRow<TypeId::kQ8_K, BlockQ8_K, 256>,
    TypeRow<TypeId::kIQ2_XXS, BlockIQ2_XXS, 256, GroupForm{2, 1, 43, 86, Scales::kSuper, 32, false, Codes::kIq2, 8}>,
    TypeRow<TypeId::kIQ2_XS, BlockIQ2_XS, 256, GroupForm{2, 1, 43, 86, Scales::kSuper, 16, false, Codes::kIq2, 8}>,
    TypeRow<TypeId::kIQ3_XXS, BlockIQ3_XXS, 256, GroupForm{4, 0, 31, 62, Scales::kSuper, 32, false, Codes::kIq3Xxs, 2}>,
    TypeRow<TypeId::kIQ1_S, BlockIQ1_S, 256, GroupForm{2, 1, 9, 18, Scales::kSuper, 32, false, Codes::kIq1, 8}>,
    TypeRow<TypeId::kIQ4_NL, BlockIQ4_NL, 32, GroupForm{4, 0, 128, 255, Scales::kHalf, 32, false, Codes::kIq4}>,
    TypeRow<TypeId::kIQ3_S, BlockIQ3_S, 256, GroupForm{4, 0, 15, 30, Scales::kSuper, 32, false, Codes::kIq3S}>,
    TypeRow<TypeId::kIQ2_S, BlockIQ2_S, 256, GroupForm{2, 1, 43, 86, Scales::kSuper, 16, false, Codes::kIq2, 8}>,
    TypeRow<TypeId::kIQ4_XS, BlockIQ4_XS, 256, GroupForm{4, 0, 128, 255, Scales::kSuper, 32, false, Codes::kIq4}>,
    TypeRow<TypeId::kIQ1_M, BlockIQ1_M, 256, GroupForm{2, 1, 9, 18, Scales::kSuper, 16, false, Codes::kIq1, 8}>,
    TypeRow<TypeId::kBF16, BlockBF16, 1>,
    TypeRow<TypeId::kTQ1_0, BlockTQ1_0, 256, GroupForm{2, 0, 1, 3, Scales::kSuper, 32, false, Codes::kPlain}>,
    TypeRow<TypeId::kTQ2_0, BlockTQ2_0, 256, GroupForm{2, 0, 1, 3, Scales::kSuper, 32, false, Codes::kPlain}>,
    TypeRow<TypeId::kMXFP4, BlockMXFP4, 32, GroupForm{4, 0, 12, 24, Scales::kBf16, 32, false, Codes::kE2M1}>,
    TypeRow<TypeId::kNVFP4, BlockNVFP4, 64, GroupForm{4, 0, 12, 24, Scales::kE4M3, 16, false, Codes::kE2M1, 2}>,
    TypeRow<TypeId::kQ1_0, BlockQ1_0, 128, GroupForm{1, 0, 1, 2, Scales::kHalf, 32, false, Codes::kSign}>,
    TypeRow<TypeId::kQ2_0, BlockQ2_0, 64, GroupForm{2, 0, 1, 3, Scales::kHalf, 32, false, Codes::kPlain}>,
    TypeRow<TypeId::kF8_E4M3, BlockF8_E4M3, 1>>;
// clang-format on

}  // namespace realizar
