#include "formats/packed_layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "quant/half.h"

namespace realizar {
namespace {

class TernaryMatrix : public PackedMatrix {
 public:
  explicit TernaryMatrix(TernaryCodes codes) : c_(std::move(codes)) {}
  std::vector<std::span<const std::byte>> parts() const override { return {c_.codes}; }

  Status unpack(uint64_t first_row, uint64_t n_rows, std::byte* out) const override {
    const TypeTraits& type = traits(c_.type);
    const uint64_t n_stored = c_.n_rows / 4;
    std::vector<float> row(c_.n_cols);
    for (uint64_t r = first_row; r < first_row + n_rows; ++r, out += row_bytes(type, c_.n_cols)) {
      const std::byte* from = c_.codes.data() + r % n_stored * c_.n_cols;
      const auto shift = static_cast<uint32_t>(2 * (r / n_stored));
      for (uint64_t i = 0; i < c_.n_cols; ++i) {
        const uint32_t code = std::to_integer<uint32_t>(from[i]) >> shift & 3;
        if (code == 3) {
          return format_error(fmt::format("tensor '{}': row {}: expected codes up to 2, actual 3", c_.name, r),
                              c_.name);
        }
        row[i] = (static_cast<float>(code) - 1.0f) * c_.factor;
      }
      type.encode(row.data(), out, row.size());
    }
    return {};
  }

 private:
  const TernaryCodes c_;
};

// Magnitudes are averaged over the whole matrix, as in transformers' WeightQuant, and the result has the stored type.
class RoundedMatrix : public PackedMatrix {
 public:
  explicit RoundedMatrix(TernaryFloats floats) : f_(floats) {}
  std::vector<std::span<const std::byte>> parts() const override { return {f_.weights}; }

  Status unpack(uint64_t first_row, uint64_t n_rows, std::byte* out) const override {
    std::call_once(measured_, [this] { mean_ = mean_magnitude(); });
    const TypeTraits& type = traits(f_.type);
    const float scale = 1.0f / mean_;
    const float factor = f_.stored == TypeId::kBF16 ? bf16_to_float(float_to_bf16(1.0f / scale)) : 1.0f / scale;
    std::vector<float> row(f_.n_cols);
    for (uint64_t r = first_row; r < first_row + n_rows; ++r, out += row_bytes(type, f_.n_cols)) {
      read(r, row);
      for (float& w : row) w = std::clamp(std::nearbyint(w * scale), -1.0f, 1.0f) * factor;
      type.encode(row.data(), out, row.size());
    }
    return {};
  }

 private:
  void read(uint64_t r, std::vector<float>& row) const {
    const TypeTraits& stored = traits(f_.stored);
    stored.decode(f_.weights.data() + r * row_bytes(stored, f_.n_cols), row.data(), f_.n_cols);
  }
  float mean_magnitude() const {
    const uint64_t n_rows = f_.weights.size() / row_bytes(traits(f_.stored), f_.n_cols);
    std::vector<float> row(f_.n_cols);
    double sum = 0;
    for (uint64_t r = 0; r < n_rows; ++r) {
      read(r, row);
      for (const float w : row) sum += std::fabs(w);
    }
    return std::max(static_cast<float>(sum / static_cast<double>(n_rows * f_.n_cols)), 1e-5f);
  }

  const TernaryFloats f_;
  mutable std::once_flag measured_;
  mutable float mean_ = 0;
};

}  // namespace

std::unique_ptr<PackedMatrix> make_packed_ternary(TernaryCodes codes) {
  return std::make_unique<TernaryMatrix>(std::move(codes));
}

std::unique_ptr<PackedMatrix> make_rounded_ternary(TernaryFloats floats) {
  return std::make_unique<RoundedMatrix>(floats);
}

}  // namespace realizar
