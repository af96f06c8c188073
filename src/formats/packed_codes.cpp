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

uint32_t word_at(std::span<const std::byte> words, uint64_t i) {
  uint32_t word;
  std::memcpy(&word, words.data() + i * sizeof word, sizeof word);
  return word;
}

float float_at(std::span<const std::byte> values, TypeId type, uint64_t i) {
  float value = 0;
  const TypeTraits& t = traits(type);
  t.decode(values.data() + i * t.block_bytes, &value, 1);
  return value;
}

void put(const int* values, Half d, BlockQ4_0& block) {
  block.d = d;
  for (int i = 0; i < 16; ++i) block.qs[i] = static_cast<uint8_t>((values[i] + 8) | (values[i + 16] + 8) << 4);
}

void put(const int* values, Half d, BlockQ5_0& block) {
  block.d = d;
  for (int i = 0; i < 16; ++i) {
    block.qs[i] = static_cast<uint8_t>(((values[i] + 16) & 15) | ((values[i + 16] + 16) & 15) << 4);
  }
  for (int k = 0; k < 4; ++k) {
    block.qh[k] = 0;
    for (int i = 0; i < 8; ++i) block.qh[k] |= static_cast<uint8_t>((values[8 * k + i] + 16) >> 4 << i);
  }
}

void put(const int* values, Half d, BlockQ8_0& block) {
  block.d = d;
  for (int i = 0; i < 32; ++i) block.qs[i] = static_cast<int8_t>(values[i]);
}

struct Limits {
  int low, high;
};
Limits limits_of(TypeId type) {
  if (type == TypeId::kQ4_0) return {-8, 7};
  return type == TypeId::kQ5_0 ? Limits{-16, 15} : Limits{-128, 127};
}

class CodesMatrix : public PackedMatrix {
 public:
  explicit CodesMatrix(PackedCodes codes) : p_(std::move(codes)), group_cols_(p_.n_cols / p_.n_groups) {}

  Status unpack(uint64_t first_row, uint64_t n_rows, std::byte* out) const override {
    if (p_.type != TypeId::kF16) RZ_CHECK_OK(check_order());
    const size_t n_bytes = row_bytes(traits(p_.type), p_.n_cols);
    Row row{std::vector<uint8_t>(p_.n_cols), std::vector<float>(p_.n_groups), std::vector<int>(p_.n_groups)};
    for (row.idx = first_row; row.idx < first_row + n_rows; ++row.idx, out += n_bytes) {
      read(row);
      RZ_CHECK_OK(unpack_row(row, out));
    }
    return {};
  }

  std::vector<std::span<const std::byte>> parts() const override {
    std::vector<std::span<const std::byte>> parts;
    for (const auto part : {p_.codes.words, p_.zeros.words, p_.scales, p_.column_group}) {
      if (!part.empty()) parts.push_back(part);
    }
    return parts;
  }

 private:
  struct Row {
    std::vector<uint8_t> codes;  // [n_cols]
    std::vector<float> scales;   // [n_groups]
    std::vector<int> zeros;      // [n_groups]
    uint64_t idx = 0;
  };

  void read(Row& row) const {
    if (!p_.codes_by_column) p_.codes.read_line(row.idx, p_.n_cols, row.codes.data());
    for (uint64_t c = 0; p_.codes_by_column && c < p_.n_cols; ++c) {
      row.codes[c] = static_cast<uint8_t>(p_.codes.at(c, row.idx));
    }
    for (uint64_t g = 0; g < p_.n_groups; ++g) {
      row.scales[g] = scale(row.idx, g);
      row.zeros[g] = zero(row.idx, g);
    }
  }

  int zero(uint64_t row, uint64_t group) const {
    if (p_.zeros.words.empty()) return static_cast<int>(p_.zero);
    const uint32_t zero = p_.zeros.at(group, row);
    if (!p_.zeros_are_one_less) return static_cast<int>(zero);
    return static_cast<int>((zero + 1) & ((1u << p_.zeros.bits) - 1));
  }

  float scale(uint64_t row, uint64_t group) const {
    const bool is_single = p_.scales.size() == traits(p_.scale_type).block_bytes;
    const uint64_t at = is_single ? 0 : p_.scales_by_row ? row * p_.n_groups + group : group * p_.n_rows + row;
    return float_at(p_.scales, p_.scale_type, at) * p_.scale_factor;
  }

  // Whether groups are adjacent columns, as in blocks.
  Status check_order() const {
    for (uint64_t c = 0; c < p_.column_group.size() / sizeof(uint32_t); ++c) {
      if (word_at(p_.column_group, c) == c / group_cols_) continue;
      return format_error(fmt::format("tensor '{}': g_idx: column {}: expected group {}, as config.json (desc_act) has "
                                      "it, actual {}",
                                      p_.name, c, c / group_cols_, word_at(p_.column_group, c)),
                          p_.name);
    }
    return {};
  }

  Status unpack_row(const Row& row, std::byte* out) const {
    switch (p_.type) {
      case TypeId::kQ4_0:
        return put_blocks<BlockQ4_0>(row, out);
      case TypeId::kQ5_0:
        return put_blocks<BlockQ5_0>(row, out);
      case TypeId::kQ8_0:
        return put_blocks<BlockQ8_0>(row, out);
      default:
        return put_halves(row, out);
    }
  }

  template <class Block>
  Status put_blocks(const Row& row, std::byte* out) const {
    const Limits limits = limits_of(p_.type);
    for (uint64_t c = 0; c < p_.n_cols; c += kBlockElems, out += sizeof(Block)) {
      const uint64_t group = c / group_cols_;
      int values[kBlockElems];
      for (uint64_t i = 0; i < kBlockElems; ++i) values[i] = row.codes[c + i] - row.zeros[group];
      const auto [low, high] = std::minmax_element(values, values + kBlockElems);
      if (*low < limits.low || *high > limits.high) return out_of_range(row.idx, *low < limits.low ? *low : *high);
      const Half d = float_to_fp16(row.scales[group]);
      if (!std::isfinite(fp16_to_float(d))) return not_finite();
      Block block;
      put(values, d, block);
      std::memcpy(out, &block, sizeof block);
    }
    return {};
  }

  Status put_halves(const Row& row, std::byte* out) const {
    for (uint64_t c = 0; c < p_.n_cols; ++c, out += sizeof(Half)) {
      const uint64_t group = p_.column_group.empty() ? c / group_cols_ : word_at(p_.column_group, c);
      if (group >= p_.n_groups) {
        return format_error(
            fmt::format("tensor '{}': g_idx: expected groups below {}, actual {}", p_.name, p_.n_groups, group),
            p_.name);
      }
      const Half value = float_to_fp16(row.scales[group] * static_cast<float>(row.codes[c] - row.zeros[group]));
      if (!std::isfinite(fp16_to_float(value))) return not_finite();
      std::memcpy(out, &value, sizeof value);
    }
    return {};
  }

  Error out_of_range(uint64_t row, int value) const {
    return format_error(fmt::format("tensor '{}': row {}: expected codes less their zero from {} to {}, as config.json "
                                    "has it, actual {}",
                                    p_.name, row, limits_of(p_.type).low, limits_of(p_.type).high, value),
                        p_.name);
  }
  Error not_finite() const {
    return format_error(
        fmt::format("tensor '{}': a scale, or its product with a weight, is not an F16 number", p_.name), p_.name);
  }

  PackedCodes p_;
  uint64_t group_cols_;
};

}  // namespace

uint32_t CodeGrid::at(uint64_t line, uint64_t i) const {
  if (place == Place::kBytes) return std::to_integer<uint32_t>(words[line * stride + i]) ^ 0x80u;
  // Within a word, AWQ stores even elements first.
  const uint64_t bit = place == Place::kAwq ? i / 8 * 32 + (i % 8 / 2 + i % 2 * 4) * 4 : i * bits;
  const uint64_t step = place == Place::kApart ? stride : 1;
  const uint64_t first = (place == Place::kApart ? line : line * stride) + bit / 32 * step;
  uint64_t value = word_at(words, first) >> (bit % 32);
  if (bit % 32 + bits > 32) value |= uint64_t{word_at(words, first + step)} << (32 - bit % 32);
  return static_cast<uint32_t>(value & ((1u << bits) - 1));
}

void CodeGrid::read_line(uint64_t line, uint64_t n, uint8_t* codes) const {
  if (place == Place::kAwq || place == Place::kBytes || 32 % bits != 0) {
    for (uint64_t i = 0; i < n; ++i) codes[i] = static_cast<uint8_t>(at(line, i));
    return;
  }
  const uint64_t per_word = 32 / bits, step = place == Place::kApart ? stride : 1;
  const uint64_t first = place == Place::kApart ? line : line * stride;
  const uint32_t mask = (1u << bits) - 1;
  for (uint64_t i = 0; i < n; i += per_word) {
    uint32_t word = word_at(words, first + i / per_word * step);
    for (uint64_t k = i; k < std::min(n, i + per_word); ++k, word >>= bits) {
      codes[k] = static_cast<uint8_t>(word & mask);
    }
  }
}

std::unique_ptr<PackedMatrix> make_packed_codes(PackedCodes codes) {
  return std::make_unique<CodesMatrix>(std::move(codes));
}

}  // namespace realizar
