// Matrices as HQQ packs them (github.com/mobiusml/hqq, hqq/core/quantize.py and bitpack.py): value = scale * (code -
// zero), with zeros that are no whole numbers.
#pragma once

#include <memory>

#include "formats/packed_matrix.h"
#include "quant/types.h"

namespace realizar {

// The matrix, its elements counted through row by row, is cut into `n_lines` lines. A group is a line (HQQ's axis 1)
// or what the lines have at the same place (axis 0).
struct HqqCodes {
  std::string name;            // for messages
  TypeId type = TypeId::kF16;  // Q4_1 or Q5_1, where each of their blocks lies in one group; or F16
  uint64_t n_cols = 0, n_lines = 0, line_elems = 0;
  bool groups_are_lines = true;
  // Lines of words, [lines, line_elems], which are bytes or, of three bits, 32 bits each. A word has a code of each of
  // n_places lines: those of the first lines are the highest, and the last place is that of the lowest bits. Lines that
  // are no multiple of the places are filled up.
  std::span<const std::byte> words = {};
  uint32_t bits = 4, n_places = 2;
  uint32_t max_code = 15;
  std::span<const std::byte> scales = {}, zeros = {};  // [groups]
  TypeId number_type = TypeId::kF16;                   // of these: F16, BF16 or F32
};

std::unique_ptr<PackedMatrix> make_packed_hqq(HqqCodes codes);

}  // namespace realizar
