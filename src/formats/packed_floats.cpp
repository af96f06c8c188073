#include "formats/packed_layouts.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "quant/blocks.h"
#include "quant/half.h"

namespace realizar {
namespace {

using Bytes = std::span<const std::byte>;

uint8_t byte_at(Bytes bytes, uint64_t i) {
  return std::to_integer<uint8_t>(bytes[i]);
}

// n codes whose even ones are the lower nibbles of `from`, stored in the order of a block: code i and code i + n / 2
// share a byte.
void put_halves_of(Bytes from, uint64_t first_byte, int n, uint8_t* qs) {
  const auto code = [&](int i) {
    return (byte_at(from, first_byte + static_cast<uint64_t>(i / 2)) >> (4 * (i % 2))) & 15;
  };
  for (int i = 0; i < n / 2; ++i) qs[i] = static_cast<uint8_t>(code(i) | code(i + n / 2) << 4);
}

class ScaledNibbles : public PackedMatrix {
 public:
  ScaledNibbles(Bytes codes, Bytes scales, uint64_t n_cols) : codes_(codes), scales_(scales), n_cols_(n_cols) {}
  std::vector<Bytes> parts() const override { return {codes_, scales_}; }

 protected:
  Bytes codes_, scales_;
  uint64_t n_cols_;
};

class Mxfp4Matrix : public ScaledNibbles {
 public:
  using ScaledNibbles::ScaledNibbles;

  Status unpack(uint64_t first_row, uint64_t n_rows, std::byte* out) const override {
    const uint64_t n_blocks = n_cols_ / 32;
    for (uint64_t b = first_row * n_blocks; b < (first_row + n_rows) * n_blocks; ++b, out += sizeof(BlockMXFP4)) {
      BlockMXFP4 block;
      block.e = byte_at(scales_, b);
      put_halves_of(codes_, 16 * b, 32, block.qs);
      std::memcpy(out, &block, sizeof block);
    }
    return {};
  }
};

class Nvfp4Matrix : public ScaledNibbles {
 public:
  Nvfp4Matrix(Bytes codes, Bytes scales, uint64_t n_cols, float factor)
      : ScaledNibbles(codes, scales, n_cols), factor_(factor) {}

  Status unpack(uint64_t first_row, uint64_t n_rows, std::byte* out) const override {
    const uint64_t n_blocks = n_cols_ / 64;
    for (uint64_t b = first_row * n_blocks; b < (first_row + n_rows) * n_blocks; ++b, out += sizeof(BlockNVFP4)) {
      BlockNVFP4 block;
      for (uint64_t s = 0; s < 4; ++s) {
        block.scales[s] = byte_at(scales_, 4 * b + s);
        put_halves_of(codes_, 32 * b + 8 * s, 16, block.qs + 8 * s);
      }
      std::memcpy(out, &block, sizeof block);
    }
    return {};
  }
  std::optional<float> factor() const override { return factor_; }

 private:
  float factor_;
};

class TableMatrix : public PackedMatrix {
 public:
  explicit TableMatrix(TableCodes codes) : p_(std::move(codes)) {}

  Status unpack(uint64_t first_row, uint64_t n_rows, std::byte* out) const override {
    float scale = 0;
    for (uint64_t e = first_row * p_.n_cols; e < (first_row + n_rows) * p_.n_cols; ++e, out += sizeof(Half)) {
      if (e == first_row * p_.n_cols || e % p_.n_block_elems == 0) scale = scale_of(e / p_.n_block_elems);
      const uint8_t both = byte_at(p_.codes, e / 2);
      const Half value = float_to_fp16(p_.levels[e % 2 == 0 ? both >> 4 : both & 15] * scale);
      if (!std::isfinite(fp16_to_float(value))) {
        return format_error(fmt::format("tensor '{}': a weight is not an F16 number", p_.name), p_.name);
      }
      std::memcpy(out, &value, sizeof value);
    }
    return {};
  }
  std::vector<Bytes> parts() const override { return {p_.codes, p_.scales}; }

 private:
  float scale_of(uint64_t block) const {
    if (!p_.nested_levels.empty()) {
      return p_.nested_levels[byte_at(p_.scales, block)] * p_.nested_scales[block / p_.n_nested_blocks] + p_.offset;
    }
    float scale;
    std::memcpy(&scale, p_.scales.data() + block * sizeof scale, sizeof scale);
    return scale;
  }

  TableCodes p_;
};

}  // namespace

std::unique_ptr<PackedMatrix> make_packed_mxfp4(Bytes codes, Bytes scales, uint64_t n_cols) {
  return std::make_unique<Mxfp4Matrix>(codes, scales, n_cols);
}

std::unique_ptr<PackedMatrix> make_packed_nvfp4(Bytes codes, Bytes scales, uint64_t n_cols, float factor) {
  return std::make_unique<Nvfp4Matrix>(codes, scales, n_cols, factor);
}

std::unique_ptr<PackedMatrix> make_packed_table(TableCodes codes) {
  return std::make_unique<TableMatrix>(std::move(codes));
}

}  // namespace realizar
