// The layouts in which other programs store packed matrices, with a PackedMatrix for each. Each layout's code is in its
// own file: packed_codes.cpp, packed_floats.cpp, packed_hqq.cpp, packed_ternary.cpp.
#pragma once

#include <memory>

#include "formats/packed_matrix.h"
#include "quant/types.h"

namespace realizar {

// Packed matrices of integers with a scale, and perhaps a zero, for each group of columns: value = scale * (code -
// zero). GPTQ, AWQ, compressed-tensors and LLM.int8 differ in the layout of codes, scales and zeros.

// Integers of a few bits in 32-bit words. A line is a row or a column of the matrix.
struct CodeGrid {
  enum class Place : uint8_t {
    kBeside,  // the words of a line are adjacent, lines `stride` words apart
    kApart,   // the words of a line are `stride` apart, lines adjacent
    kAwq,     // like kBeside; of the eight nibbles in a word the first four are the even elements
    kBytes,   // signed bytes, 128 below the code; lines are `stride` bytes apart
  };
  std::span<const std::byte> words = {};
  uint32_t bits = 4;
  uint64_t stride = 0;
  Place place = Place::kBeside;

  uint32_t at(uint64_t line, uint64_t i) const;
  // Elements [0, n) of a line; lines packed in words are read one word at a time.
  void read_line(uint64_t line, uint64_t n, uint8_t* codes) const;
};

struct PackedCodes {
  std::string name;            // for messages
  TypeId type = TypeId::kF16;  // Q4_0, Q5_0 or Q8_0 if code - zero is in its range; or F16, whose values are rounded
  uint64_t n_rows = 0, n_cols = 0, n_groups = 1;
  CodeGrid codes = {};
  bool codes_by_column = false;  // whether the lines of `codes` are columns
  CodeGrid zeros = {};           // lines are groups; without words all zeros are `zero`
  uint32_t zero = 8;
  bool zeros_are_one_less = false;
  std::span<const std::byte> scales = {};  // [n_groups, n_rows], [n_rows, n_groups], or one
  TypeId scale_type = TypeId::kF16;        // F16, BF16 or F32
  bool scales_by_row = false;
  float scale_factor = 1.0f;                     // on all scales
  std::span<const std::byte> column_group = {};  // I32 [n_cols]; empty: groups have n_cols / n_groups columns each
};

std::unique_ptr<PackedMatrix> make_packed_codes(PackedCodes codes);

// Packed matrices of 4-bit numbers: E2M1 with a scale for each 32 (MXFP4) or 16 (NVFP4) columns, and indices of a table
// (bitsandbytes' NF4 and FP4).

// codes [n_rows, n_cols / 2], the even column in the lower nibble; scales [n_rows, n_cols / 32], exponents as in
// BlockMXFP4. Converts to MXFP4 without loss.
std::unique_ptr<PackedMatrix> make_packed_mxfp4(std::span<const std::byte> codes, std::span<const std::byte> scales,
                                                uint64_t n_cols);

// Likewise with scales [n_rows, n_cols / 16] of E4M3, all multiplied by `factor`. Converts to NVFP4 without loss.
std::unique_ptr<PackedMatrix> make_packed_nvfp4(std::span<const std::byte> codes, std::span<const std::byte> scales,
                                                uint64_t n_cols, float factor);

// value = level[code] * scale[element / n_block_elems], with elements counted across rows, the even one's code in the
// higher nibble. Converts to F16, rounded.
struct TableCodes {
  std::string name;  // for messages
  uint64_t n_cols = 0, n_block_elems = 64;
  std::vector<float> levels = {};  // [16]
  std::span<const std::byte> codes = {};
  // F32 [blocks]; or one byte each, mapped to scales by a table of their own:
  // offset + nested_levels[number] * nested_scales[block / n_nested_blocks].
  std::span<const std::byte> scales = {};
  std::vector<float> nested_levels = {}, nested_scales = {};
  uint64_t n_nested_blocks = 256;
  float offset = 0;
};
std::unique_ptr<PackedMatrix> make_packed_table(TableCodes codes);

// Matrices packed by HQQ (github.com/mobiusml/hqq, hqq/core/quantize.py and bitpack.py): value = scale * (code - zero),
// with fractional zeros.

// The matrix, with its elements counted row by row, is cut into `n_lines` lines. A group is a line (HQQ's axis 1), or
// the elements at the same position of all lines (axis 0).
struct HqqCodes {
  std::string name;            // for messages
  TypeId type = TypeId::kF16;  // Q4_1 or Q5_1 if each of their blocks lies in one group; or F16
  uint64_t n_cols = 0, n_lines = 0, line_elems = 0;
  bool groups_are_lines = true;
  // Lines of words, [lines, line_elems], which are bytes or, for three bits, 32-bit integers. A word has a code of each
  // of n_places lines: the first lines have the highest bits, the last one the lowest. The number of lines is padded to
  // a multiple of n_places.
  std::span<const std::byte> words = {};
  uint32_t bits = 4, n_places = 2;
  uint32_t max_code = 15;
  std::span<const std::byte> scales = {}, zeros = {};  // [groups]
  TypeId number_type = TypeId::kF16;                   // of scales and zeros: F16, BF16 or F32
};

std::unique_ptr<PackedMatrix> make_packed_hqq(HqqCodes codes);

// Packed matrices of BitNet: weights -1, 0 and 1, times one factor for the whole matrix.

// Codes [n_rows / 4, n_cols], one more than the weight, with four rows in a byte: the lowest bits belong to row r, the
// next to row r + n_rows / 4, and so on. Converts to TQ2_0 or, if its blocks do not fit, to F16.
struct TernaryCodes {
  std::string name;  // for messages
  TypeId type = TypeId::kF16;
  uint64_t n_rows = 0, n_cols = 0;
  std::span<const std::byte> codes = {};
  float factor = 1;
};
std::unique_ptr<PackedMatrix> make_packed_ternary(TernaryCodes codes);

// Weights of a float type, each rounded to -1, 0 or 1 times the mean magnitude. The type is unchanged.
struct TernaryFloats {
  TypeId type = TypeId::kF16, stored = TypeId::kBF16;
  uint64_t n_cols = 0;
  std::span<const std::byte> weights = {};
};
std::unique_ptr<PackedMatrix> make_rounded_ternary(TernaryFloats floats);

}  // namespace realizar
