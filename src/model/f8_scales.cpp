#include "model/f8_scales.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "backend/backend.h"
#include "base/try.h"
#include "model/config_reader.h"

namespace realizar {
namespace {

constexpr uint64_t kBlockRows = 128;

// Rows and columns that share a scale.
struct ScaleBlock {
  uint64_t n_rows, n_cols;
};

Result<ScaleBlock> block_of(const TensorInfo& matrix, const TensorInfo& scales) {
  const std::vector<uint64_t>& shape = matrix.shape;
  if (scales.n_elems() == 1) return ScaleBlock{shape[0], shape[1]};
  if (scales.n_elems() == shape[0] && scales.shape[0] == shape[0]) return ScaleBlock{1, shape[1]};
  const std::vector<uint64_t> blocks{(shape[0] + kBlockRows - 1) / kBlockRows,
                                     (shape[1] + kF8ScaleCols - 1) / kF8ScaleCols};
  if (scales.shape == blocks) return ScaleBlock{kBlockRows, kF8ScaleCols};
  return unsupported(
      fmt::format("tensor '{}': scales of shape [{}] are not supported for a matrix of shape [{}] (supported: one, "
                  "one per row, or one for each {} x {})",
                  scales.name, fmt::join(scales.shape, ", "), fmt::join(shape, ", "), kBlockRows, kF8ScaleCols),
      scales.name);
}

}  // namespace

const TensorInfo* find_f8_scales(const ModelFile& file, const TensorInfo& matrix) {
  const TensorInfo* scales = file.find(matrix.name + "_scale_inv");
  return scales != nullptr ? scales : file.find(matrix.name + "_scale");
}

Status append_f8_scales(const TensorInfo& matrix, const TensorInfo* scales, uint32_t first_row, uint32_t n_rows,
                        std::vector<float>& out) {
  const uint32_t n_cols = f8_n_scales(static_cast<uint32_t>(matrix.shape.back()));
  if (scales == nullptr) {
    out.resize(out.size() + size_t{n_rows} * n_cols, 1.0f);
    return {};
  }
  if (matrix.shape.size() != 2) {
    return unsupported(fmt::format("tensor '{}': scales of a stack of matrices are not supported", scales->name),
                       scales->name);
  }
  RZ_TRY(const ScaleBlock block, block_of(matrix, *scales));
  RZ_TRY(const std::vector<float> values, read_vector(*scales));
  constexpr float kLargestCode = 448;
  if (!std::ranges::all_of(values, [](float x) { return std::isfinite(x * kLargestCode); })) {
    return format_error(fmt::format("tensor '{}': a scale, or its product with a weight, is not finite", scales->name),
                        scales->name);
  }
  const uint64_t n_stored_cols = (matrix.shape[1] + block.n_cols - 1) / block.n_cols;
  for (uint32_t r = first_row; r < first_row + n_rows; ++r) {
    for (uint32_t c = 0; c < n_cols; ++c) {
      out.push_back(values[r / block.n_rows * n_stored_cols + uint64_t{c} * kF8ScaleCols / block.n_cols]);
    }
  }
  return {};
}

bool is_unused_f8_scale(std::string_view name) {
  constexpr std::string_view kSuffixes[] = {".input_scale", ".k_scale", ".v_scale", ".q_scale"};
  return std::ranges::any_of(kSuffixes, [&](std::string_view end) { return name.ends_with(end); });
}

}  // namespace realizar
