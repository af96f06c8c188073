// Element and block types of stored tensors, for run-time lookups. Their rows are in type_table.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "quant/type_id.h"

namespace realizar {

struct TypeTraits {
  TypeId id;
  std::string_view name;  // "Q4_K"
  uint32_t block_elems;   // elements per block; 1 for plain types
  uint32_t block_bytes;   // bytes per block
  Layout layout;
  // src: n / block_elems blocks; dst: [n]. n is a multiple of block_elems.
  void (*decode)(const std::byte* src, float* dst, size_t n);
  // The inverse, nearest in the least-squares sense that the format's author describes; used to make test data.
  void (*encode)(const float* src, std::byte* dst, size_t n);
};

// The supported types, sorted by number.
std::span<const TypeTraits> all_types();
// Precondition: `id` is a valid enumerator.
const TypeTraits& traits(TypeId id);
// Nullopt for a number that is not a supported GGUF type.
std::optional<TypeId> type_from_number(uint32_t ggml_type);
// The name of any ggml type number, for messages, even if GGUF does not define it: "IQ2_XXS", "type 77".
std::string type_name_for_message(uint32_t ggml_type);

// Bytes of n elements; n must be a multiple of the block size.
constexpr size_t row_bytes(const TypeTraits& t, size_t n) {
  return n / t.block_elems * t.block_bytes;
}

}  // namespace realizar
