// Packed matrices of numbers of 4 bits: E2M1 with a scale for each 32 (MXFP4) or 16 (NVFP4) columns, and levels of a
// table (bitsandbytes' NF4 and FP4).
#pragma once

#include <memory>

#include "formats/packed_matrix.h"

namespace realizar {

// codes [n_rows, n_cols / 2], the even column's the lower nibble; scales [n_rows, n_cols / 32], exponents as in
// BlockMXFP4. Becomes MXFP4, without a loss.
std::unique_ptr<PackedMatrix> make_packed_mxfp4(std::span<const std::byte> codes, std::span<const std::byte> scales,
                                                uint64_t n_cols);

// The same with scales [n_rows, n_cols / 16] of E4M3, all multiplied by `factor`. Becomes NVFP4, without a loss.
std::unique_ptr<PackedMatrix> make_packed_nvfp4(std::span<const std::byte> codes, std::span<const std::byte> scales,
                                                uint64_t n_cols, float factor);

// value = level[code] * scale[element / n_block_elems], elements counted through all rows, the even one's code the
// higher nibble. Becomes F16, rounded.
struct TableCodes {
  std::string name;  // for messages
  uint64_t n_cols = 0, n_block_elems = 64;
  std::vector<float> levels = {};  // [16]
  std::span<const std::byte> codes = {};
  // F32 [blocks]; or numbers of a byte each, which are scales by way of a table of their own:
  // offset + nested_levels[number] * nested_scales[block / n_nested_blocks].
  std::span<const std::byte> scales = {};
  std::vector<float> nested_levels = {}, nested_scales = {};
  uint64_t n_nested_blocks = 256;
  float offset = 0;
};
std::unique_ptr<PackedMatrix> make_packed_table(TableCodes codes);

}  // namespace realizar
