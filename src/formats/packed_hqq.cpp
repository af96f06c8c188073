#include "formats/packed_layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/try.h"
#include "quant/blocks.h"
#include "quant/half.h"

namespace realizar {
namespace {

// A row of the matrix, unpacked.
struct Row {
  explicit Row(size_t n_cols) : codes(n_cols), scales(n_cols), zeros(n_cols) {}
  std::vector<uint8_t> codes;
  std::vector<float> scales, zeros;
};

void put(const uint8_t* codes, Half d, Half m, BlockQ4_1& block) {
  block.d = d;
  block.m = m;
  for (int i = 0; i < 16; ++i) block.qs[i] = static_cast<uint8_t>(codes[i] | codes[i + 16] << 4);
}

void put(const uint8_t* codes, Half d, Half m, BlockQ5_1& block) {
  block.d = d;
  block.m = m;
  for (int i = 0; i < 16; ++i) block.qs[i] = static_cast<uint8_t>((codes[i] & 15) | (codes[i + 16] & 15) << 4);
  for (int k = 0; k < 4; ++k) {
    block.qh[k] = 0;
    for (int i = 0; i < 8; ++i) block.qh[k] |= static_cast<uint8_t>(codes[8 * k + i] >> 4 << i);
  }
}

class HqqMatrix : public PackedMatrix {
 public:
  explicit HqqMatrix(HqqCodes codes)
      : c_(std::move(codes)), n_word_lines_((c_.n_lines + c_.n_places - 1) / c_.n_places) {}

  std::vector<std::span<const std::byte>> parts() const override { return {c_.words, c_.scales, c_.zeros}; }

  Status unpack(uint64_t first_row, uint64_t n_rows, std::byte* out) const override {
    const size_t n_bytes = row_bytes(traits(c_.type), c_.n_cols);
    Row row(c_.n_cols);
    for (uint64_t r = first_row; r < first_row + n_rows; ++r, out += n_bytes) {
      read(r, row);
      if (*std::max_element(row.codes.begin(), row.codes.end()) > c_.max_code) return too_large(r);
      RZ_CHECK_OK(put_row(row, out));
    }
    return {};
  }

 private:
  void read(uint64_t row_idx, Row& row) const {
    for (uint64_t c = 0, n = 0; c < c_.n_cols; c += n) {
      const uint64_t elem = row_idx * c_.n_cols + c, line = elem / c_.line_elems, at = elem % c_.line_elems;
      n = std::min(c_.n_cols - c, c_.line_elems - at);
      read_codes(line, at, n, row.codes.data() + c);
      read_numbers(c_.scales, line, at, n, row.scales.data() + c);
      read_numbers(c_.zeros, line, at, n, row.zeros.data() + c);
    }
  }

  void read_codes(uint64_t line, uint64_t at, uint64_t n, uint8_t* codes) const {
    const uint64_t first = line % n_word_lines_ * c_.line_elems + at;
    const uint32_t shift = c_.bits * (c_.n_places - 1 - static_cast<uint32_t>(line / n_word_lines_));
    const uint32_t mask = (1u << c_.bits) - 1;
    if (c_.bits == 3) {
      for (uint64_t i = 0; i < n; ++i) {
        uint32_t word;
        std::memcpy(&word, c_.words.data() + (first + i) * sizeof word, sizeof word);
        codes[i] = static_cast<uint8_t>(word >> shift & mask);
      }
      return;
    }
    for (uint64_t i = 0; i < n; ++i) {
      codes[i] = static_cast<uint8_t>(std::to_integer<uint32_t>(c_.words[first + i]) >> shift & mask);
    }
  }

  void read_numbers(std::span<const std::byte> numbers, uint64_t line, uint64_t at, uint64_t n, float* out) const {
    const TypeTraits& type = traits(c_.number_type);
    if (!c_.groups_are_lines) return type.decode(numbers.data() + at * type.block_bytes, out, n);
    type.decode(numbers.data() + line * type.block_bytes, out, 1);
    std::fill_n(out, n, *out);
  }

  Status put_row(const Row& row, std::byte* out) const {
    switch (c_.type) {
      case TypeId::kQ4_1:
        return put_blocks<BlockQ4_1>(row, out);
      case TypeId::kQ5_1:
        return put_blocks<BlockQ5_1>(row, out);
      default:
        return put_halves(row, out);
    }
  }

  template <class Block>
  Status put_blocks(const Row& row, std::byte* out) const {
    for (uint64_t c = 0; c < c_.n_cols; c += kBlockElems, out += sizeof(Block)) {
      const Half d = float_to_fp16(row.scales[c]), m = float_to_fp16(-row.scales[c] * row.zeros[c]);
      if (!std::isfinite(fp16_to_float(d)) || !std::isfinite(fp16_to_float(m))) return not_finite();
      Block block;
      put(row.codes.data() + c, d, m, block);
      std::memcpy(out, &block, sizeof block);
    }
    return {};
  }

  Status put_halves(const Row& row, std::byte* out) const {
    for (uint64_t c = 0; c < c_.n_cols; ++c, out += sizeof(Half)) {
      const Half value = float_to_fp16(row.scales[c] * (static_cast<float>(row.codes[c]) - row.zeros[c]));
      if (!std::isfinite(fp16_to_float(value))) return not_finite();
      std::memcpy(out, &value, sizeof value);
    }
    return {};
  }

  Error too_large(uint64_t row) const {
    return format_error(fmt::format("tensor '{}': row {}: expected codes up to {}, as nbits has it, actual larger ones",
                                    c_.name, row, c_.max_code),
                        c_.name);
  }
  Error not_finite() const {
    return format_error(
        fmt::format("tensor '{}': a scale, or its product with a zero or a weight, is not an F16 number", c_.name),
        c_.name);
  }

  const HqqCodes c_;
  const uint64_t n_word_lines_;
};

}  // namespace

std::unique_ptr<PackedMatrix> make_packed_hqq(HqqCodes codes) {
  return std::make_unique<HqqMatrix>(std::move(codes));
}

}  // namespace realizar
