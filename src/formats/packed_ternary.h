// Packed matrices of BitNet: weights -1, 0 and 1, times one factor for the whole matrix.
#pragma once

#include <memory>

#include "formats/packed_matrix.h"
#include "quant/types.h"

namespace realizar {

// Codes [n_rows / 4, n_cols], one more than the weight, of four rows in a byte: the lowest bits are of row r, the next
// of row r + n_rows / 4, and so on. Becomes TQ2_0 or, where its blocks do not fit, F16.
struct TernaryCodes {
  std::string name;  // for messages
  TypeId type = TypeId::kF16;
  uint64_t n_rows = 0, n_cols = 0;
  std::span<const std::byte> codes = {};
  float factor = 1;
};
std::unique_ptr<PackedMatrix> make_packed_ternary(TernaryCodes codes);

// Weights of a type of floats, each of which stands for -1, 0 or 1 times the mean of all magnitudes: for what is
// nearest to it. Becomes the same types.
struct TernaryFloats {
  TypeId type = TypeId::kF16, stored = TypeId::kBF16;
  uint64_t n_cols = 0;
  std::span<const std::byte> weights = {};
};
std::unique_ptr<PackedMatrix> make_rounded_ternary(TernaryFloats floats);

}  // namespace realizar
