// Packed matrices of integers with a scale, and perhaps a zero, for each group of columns: value = scale * (code -
// zero). GPTQ, AWQ, compressed-tensors and LLM.int8 differ in where codes, scales and zeros lie.
#pragma once

#include <memory>

#include "formats/packed_matrix.h"
#include "quant/types.h"

namespace realizar {

// Integers of a few bits in 32-bit words. A line is a row or a column of the matrix.
struct CodeGrid {
  enum class Place : uint8_t {
    kBeside,  // the words of a line lie side by side, lines `stride` words apart
    kApart,   // the words of a line lie `stride` apart, lines side by side
    kAwq,     // as kBeside; of the eight nibbles of a word the first four are the even elements
    kBytes,   // signed bytes, 128 below the code; lines are `stride` bytes apart
  };
  std::span<const std::byte> words = {};
  uint32_t bits = 4;
  uint64_t stride = 0;
  Place place = Place::kBeside;

  uint32_t at(uint64_t line, uint64_t i) const;
  // Elements [0, n) of a line; lines that are packed by words are read a word at a time.
  void read_line(uint64_t line, uint64_t n, uint8_t* codes) const;
};

struct PackedCodes {
  std::string name;            // for messages
  TypeId type = TypeId::kF16;  // Q4_0, Q5_0 or Q8_0, whose range code - zero has; or F16, whose values are rounded
  uint64_t n_rows = 0, n_cols = 0, n_groups = 1;
  CodeGrid codes = {};
  bool codes_by_column = false;  // whether the lines of `codes` are columns
  CodeGrid zeros = {};           // lines are groups; no words: all zeros are `zero`
  uint32_t zero = 8;
  bool zeros_are_one_less = false;
  std::span<const std::byte> scales = {};  // [n_groups, n_rows], [n_rows, n_groups], or one
  TypeId scale_type = TypeId::kF16;        // F16, BF16 or F32
  bool scales_by_row = false;
  float scale_factor = 1.0f;                     // of all scales
  std::span<const std::byte> column_group = {};  // I32 [n_cols]; empty: groups are of n_cols / n_groups columns each
};

std::unique_ptr<PackedMatrix> make_packed_codes(PackedCodes codes);

}  // namespace realizar
