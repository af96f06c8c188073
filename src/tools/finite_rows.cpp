#include "tools/finite_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/printable.h"
#include "base/try.h"
#include "quant/finite.h"
#include "quant/fit/fit.h"

namespace realizar {
namespace {

Error too_large(const std::string& tensor, TypeId type, uint64_t row, std::span<const float> values) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  return format_error(fmt::format("tensor '{}': row {} has values of up to {}, which are too large for {}: take a "
                                  "type of a wider range for it, as F32",
                                  printable(tensor), row, largest, traits(type).name),
                      tensor);
}

Status explain_row(const std::string& tensor, TypeId type, uint64_t row, const RowOrigin& origin) {
  std::vector<float> values;
  if (origin) {
    RZ_TRY(values, origin(row));
  }
  const bool is_from_numbers =
      origin != nullptr && std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
  if (is_from_numbers) return too_large(tensor, type, row, values);
  return format_error(
      fmt::format("tensor '{}': row {} has a value that is infinite or not a number", printable(tensor), row), tensor);
}

// The stored value of a number beyond the range of most types; infinity if the type can hold the number.
float largest_like(TypeId type, float probe) {
  std::vector<float> values(traits(type).block_elems);
  values.front() = probe;
  std::vector<std::byte> block(traits(type).block_bytes);
  fit_blocks(type, values.data(), nullptr, block.data(), values.size());
  traits(type).decode(block.data(), values.data(), values.size());
  const bool is_held = !std::isfinite(values.front()) || std::abs(values.front()) > std::abs(probe) / 2;
  return is_held ? std::copysign(std::numeric_limits<float>::infinity(), probe) : values.front();
}

}  // namespace

Status check_finite(const std::string& tensor, TypeId type, uint64_t n_cols, uint64_t first_row,
                    std::span<const std::byte> rows, const RowOrigin& origin) {
  const size_t row_size = row_bytes(traits(type), n_cols);
  const uint64_t n_rows = row_size == 0 ? 0 : rows.size() / row_size;
  if (all_finite(type, rows.data(), n_rows * n_cols)) return {};
  for (uint64_t row = 0; row < n_rows; ++row) {
    if (!all_finite(type, rows.data() + row * row_size, n_cols)) {
      return explain_row(tensor, type, first_row + row, origin);
    }
  }
  return {};
}

Status check_finite(const std::string& tensor, const RowSource& source, uint64_t first_row,
                    std::span<const std::byte> rows) {
  RowOrigin origin;
  if (const RowSource* from = source.unconverted()) origin = [from](uint64_t row) { return values_of(*from, row, 1); };
  return check_finite(tensor, source.type(), source.n_cols(), first_row, rows, origin);
}

ValueRange range_of(TypeId type) {
  constexpr float kProbe = 1e30f, kInfinity = std::numeric_limits<float>::infinity();
  if (traits(type).block_elems == 1) return {-kInfinity, kInfinity};
  return {largest_like(type, -kProbe), largest_like(type, kProbe)};
}

Status check_range(const std::string& tensor, TypeId type, const ValueRange& range, uint64_t n_cols, uint64_t first_row,
                   std::span<const float> values) {
  constexpr float kRangeSlack = 1.01f;
  const float least = range.least * kRangeSlack, most = range.most * kRangeSlack;
  for (uint64_t row = 0; row * n_cols < values.size(); ++row) {
    const auto own = values.subspan(row * n_cols, n_cols);
    const auto [low, high] = std::ranges::minmax(own);
    if (low < least || high > most) return too_large(tensor, type, first_row + row, own);
  }
  return {};
}

}  // namespace realizar
