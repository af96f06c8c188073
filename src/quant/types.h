// Element and block types of stored tensors: one table row each. A block type's struct, scalar decode and scalar encode
// (quant/<type>.h) are its specification; every faster kernel must agree with them.
// Numbers are GGUF's (ggml_type in the GGUF specification); a type that GGUF lacks has one above all of those.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace realizar {

enum class TypeId : uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ2_K = 10,
  kQ3_K = 11,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  kIQ4_NL = 20,
  kIQ4_XS = 23,
  kBF16 = 30,
  kMXFP4 = 39,
  kF8_E4M3 = 0x10000,
};

struct TypeTraits {
  TypeId id;
  std::string_view name;  // "Q4_K"
  uint32_t block_elems;   // elements a block; 1 for plain types
  uint32_t block_bytes;   // bytes a block
  // src: n / block_elems blocks; dst: [n]. n is a multiple of block_elems.
  void (*decode)(const std::byte* src, float* dst, size_t n);
  // The inverse, nearest in the least-squares sense that the format's author describes; used to make test data.
  void (*encode)(const float* src, std::byte* dst, size_t n);
};

// The supported types, in the order of their numbers.
std::span<const TypeTraits> all_types();
// Precondition: `id` is one of the enumerators above.
const TypeTraits& traits(TypeId id);
// Nothing for a number that is no supported GGUF type.
std::optional<TypeId> type_from_number(uint32_t ggml_type);
// The name of any ggml type number, known to GGUF or not, for messages: "IQ2_XXS", "type 77".
std::string type_name_for_message(uint32_t ggml_type);

constexpr bool is_in_gguf(TypeId id) {
  return id != TypeId::kF8_E4M3;
}

// Bytes of n elements; n must be a multiple of the block size.
constexpr size_t row_bytes(const TypeTraits& t, size_t n) {
  return n / t.block_elems * t.block_bytes;
}

}  // namespace realizar
