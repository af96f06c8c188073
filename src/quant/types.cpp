#include "quant/types.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/check.h"
#include "quant/block_scales.h"
#include "quant/half.h"
#include "quant/point_grids.h"
#include "quant/type_table.h"

namespace realizar {
namespace {

inline float half_to_float(Half bits) {
  return fp16_to_float(bits);
}
inline float float_of_bits(uint32_t bits) {
  return std::bit_cast<float>(bits);
}
#define RZ_VALUE inline
#define RZ_TABLE [[maybe_unused]] constexpr
// Each file needs the previous ones.
// clang-format off
#include "quant/decode.inl"
#include "quant/encode.inl"
// clang-format on

// The plain types.
inline float value_of(const BlockF32& b, int) {
  return b.x;
}
inline float value_of(const BlockF16& b, int) {
  return fp16_to_float(b.x);
}
inline float value_of(const BlockBF16& b, int) {
  return bf16_to_float(b.x);
}
inline float value_of(const BlockF8_E4M3& b, int) {
  return f8_e4m3_to_float(b.x);
}
inline void encode(const float* x, BlockF32& b) {
  b.x = *x;
}
inline void encode(const float* x, BlockF16& b) {
  b.x = float_to_fp16(*x);
}
inline void encode(const float* x, BlockBF16& b) {
  b.x = float_to_bf16(*x);
}
inline void encode(const float* x, BlockF8_E4M3& b) {
  b.x = float_to_f8_e4m3(*x);
}

// Blocks are copied, since those of odd size are unaligned.
template <class Row>
void decode_blocks(const std::byte* src, float* dst, size_t n) {
  typename Row::Block block;
  for (size_t i = 0; i < n; i += Row::kElems, src += sizeof block) {
    std::memcpy(&block, src, sizeof block);
    for (uint32_t k = 0; k < Row::kElems; ++k) dst[i + k] = value_of(block, static_cast<int>(k));
  }
}

template <class Row>
void encode_blocks(const float* src, std::byte* dst, size_t n) {
  for (size_t i = 0; i < n; i += Row::kElems, dst += sizeof(typename Row::Block)) {
    typename Row::Block block{};
    encode(src + i, block);
    std::memcpy(dst, &block, sizeof block);
  }
}

// Names of all types in GGUF files, indexed by number, including unsupported ones; "" if there is none.
constexpr std::array<std::string_view, 43> kNames = {
    "F32",      "F16",    "Q4_0",  "Q4_1", "Q4_2", "Q4_3",    "Q5_0",   "Q5_1",    "Q8_0",  "Q8_1",     "Q2_K",
    "Q3_K",     "Q4_K",   "Q5_K",  "Q6_K", "Q8_K", "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL",   "IQ3_S",
    "IQ2_S",    "IQ4_XS", "I8",    "I16",  "I32",  "I64",     "F64",    "IQ1_M",   "BF16",  "Q4_0_4_4", "Q4_0_4_8",
    "Q4_0_8_8", "TQ1_0",  "TQ2_0", "",     "",     "",        "MXFP4",  "NVFP4",   "Q1_0",  "Q2_0"};

constexpr std::string_view name_of(TypeId id) {
  return is_in_gguf(id) ? kNames.at(static_cast<size_t>(id)) : "F8_E4M3";
}

template <class... Rows>
constexpr std::array<TypeTraits, sizeof...(Rows)> traits_of(TypeList<Rows...>) {
  static_assert((!name_of(Rows::kId).empty() && ...));
  return {{{Rows::kId, name_of(Rows::kId), Rows::kElems, sizeof(typename Rows::Block), Rows::kLayout,
            decode_blocks<Rows>, encode_blocks<Rows>}...}};
}

constexpr auto kTypes = traits_of(TypeRows{});

}  // namespace

std::span<const TypeTraits> all_types() {
  return kTypes;
}

const TypeTraits& traits(TypeId id) {
  const TypeTraits& type = kTypes[row_index(id)];
  REQUIRE(type.id == id);
  return type;
}

std::optional<TypeId> type_from_number(uint32_t ggml_type) {
  for (const TypeTraits& type : kTypes) {
    if (static_cast<uint32_t>(type.id) == ggml_type && is_in_gguf(type.id)) return type.id;
  }
  return std::nullopt;
}

std::string type_name_for_message(uint32_t ggml_type) {
  if (ggml_type < kNames.size() && !kNames[ggml_type].empty()) return std::string(kNames[ggml_type]);
  return "type " + std::to_string(ggml_type);
}

}  // namespace realizar
