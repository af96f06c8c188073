// The numbers of stored tensors' types, for code that only names them: their blocks are in blocks.h, their rows in
// type_rows.h.
#pragma once

#include <cstdint>

namespace realizar {

// The numbers are GGUF's (ggml_type in the GGUF specification); a type that GGUF does not have gets a higher one.
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
  kQ8_K = 15,
  kIQ2_XXS = 16,
  kIQ2_XS = 17,
  kIQ3_XXS = 18,
  kIQ1_S = 19,
  kIQ4_NL = 20,
  kIQ3_S = 21,
  kIQ2_S = 22,
  kIQ4_XS = 23,
  kIQ1_M = 29,
  kBF16 = 30,
  kTQ1_0 = 34,
  kTQ2_0 = 35,
  kMXFP4 = 39,
  kNVFP4 = 40,
  kQ1_0 = 41,
  kQ2_0 = 42,
  kF8_E4M3 = 0x10000,
};

// How a backend lays out the weights of a type; each backend has its own layouts.
enum class Layout : uint8_t {
  kPlain,   // elements that products read as numbers
  kGroups,  // the codes and scales of 32 columns, by the row's form; integer products
  kStored,  // stored blocks, decoded by value_of() for F32 products: slow, but available for any type
};

constexpr bool is_in_gguf(TypeId id) {
  return id != TypeId::kF8_E4M3;
}

}  // namespace realizar
