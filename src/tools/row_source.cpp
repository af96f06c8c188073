#include "tools/row_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/try.h"
#include "formats/packed_matrix.h"
#include "model/f8_scales.h"

namespace realizar {
namespace {

// For a transposed matrix: bytes of columns read at a time.
constexpr uint64_t kTileBytes = 1 << 18;

class StoredRows : public RowSource {
 public:
  StoredRows(const ModelFile& file, const TensorInfo& tensor, uint64_t n_cols)
      : RowSource(tensor.type, tensor.n_elems() / n_cols, n_cols), file_(file), tensor_(tensor) {}

  void release() const override {
    if (tensor_.packed == nullptr) return file_.release(tensor_.data);
    for (const auto part : tensor_.packed->parts()) file_.release(part);
  }

  Status read(uint64_t first_row, uint64_t n_rows, std::byte* out) const override {
    if (tensor_.packed != nullptr) return tensor_.packed->unpack(first_row, n_rows, out);
    std::memcpy(out, tensor_.data.data() + first_row * row_size(), n_rows * row_size());
    return {};
  }

 private:
  const ModelFile& file_;
  const TensorInfo& tensor_;
};

class F8Rows : public RowSource {
 public:
  F8Rows(const ModelFile& file, const TensorInfo& tensor, uint64_t n_cols)
      : RowSource(TypeId::kF32, tensor.n_elems() / n_cols, n_cols),
        stored_(file, tensor, n_cols),
        tensor_(tensor),
        scales_(find_f8_scales(file, tensor)) {}

  void release() const override { stored_.release(); }

  Status read(uint64_t first_row, uint64_t n_rows, std::byte* out) const override {
    std::vector<std::byte> codes(n_rows * stored_.row_size());
    RZ_CHECK_OK(stored_.read(first_row, n_rows, codes.data()));
    std::vector<float> values(n_rows * n_cols()), scales;
    traits(TypeId::kF8_E4M3).decode(codes.data(), values.data(), values.size());
    RZ_CHECK_OK(
        append_f8_scales(tensor_, scales_, static_cast<uint32_t>(first_row), static_cast<uint32_t>(n_rows), scales));
    const size_t n_each = scales.size() / n_rows;
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] *= scales[i / n_cols() * n_each + std::min<size_t>(i % n_cols() / kF8ScaleCols, n_each - 1)];
    }
    std::memcpy(out, values.data(), values.size() * sizeof(float));
    return {};
  }

 private:
  const StoredRows stored_;
  const TensorInfo& tensor_;
  const TensorInfo* scales_;
};

class GivenRows : public RowSource {
 public:
  GivenRows(std::vector<float> values, uint64_t n_cols)
      : RowSource(TypeId::kF32, values.size() / n_cols, n_cols), values_(std::move(values)) {}

  void release() const override {}

  Status read(uint64_t first_row, uint64_t n_rows, std::byte* out) const override {
    std::memcpy(out, values_.data() + first_row * n_cols(), n_rows * row_size());
    return {};
  }

 private:
  const std::vector<float> values_;
};

class GatheredRows : public RowSource {
 public:
  GatheredRows(std::vector<MatrixRows> sources, uint64_t n_rows, std::function<RowPlace(uint64_t)> place)
      : RowSource(sources.front()->type(), n_rows, sources.front()->n_cols()),
        sources_(std::move(sources)),
        place_(std::move(place)) {}

  void release() const override {
    for (const MatrixRows& source : sources_) source->release();
  }

  // Adjacent rows are read together.
  Status read(uint64_t first_row, uint64_t n_rows, std::byte* out) const override {
    for (uint64_t row = first_row, end = first_row + n_rows; row < end;) {
      const RowPlace first = place_(row);
      uint64_t n = 1;
      for (; row + n < end; ++n) {
        const RowPlace next = place_(row + n);
        if (next.source != first.source || next.row != first.row + n) break;
      }
      RZ_CHECK_OK(sources_[first.source]->read(first.row, n, out));
      row += n;
      out += n * row_size();
    }
    return {};
  }

 private:
  const std::vector<MatrixRows> sources_;
  const std::function<RowPlace(uint64_t)> place_;
};

// Rows derived from another source's.
class DerivedRows : public RowSource {
 public:
  DerivedRows(const MatrixRows& source, TypeId type, uint64_t n_rows, uint64_t n_cols)
      : RowSource(type, n_rows, n_cols), source_(source) {}

  void release() const override { source_->release(); }

 protected:
  const MatrixRows source_;
};

// Only types with whole-byte elements can be transposed.
class TurnedRows : public DerivedRows {
 public:
  TurnedRows(const MatrixRows& source, uint64_t n_mat_rows)
      : DerivedRows(source, source->type(), source->n_rows() / n_mat_rows * source->n_cols(), n_mat_rows) {}

  Status read(uint64_t first_row, uint64_t n_rows, std::byte* out) const override {
    const uint64_t n_mat_rows = n_cols(), n_per_mat = source_->n_cols();
    const size_t elem = traits(type()).block_bytes;
    const uint64_t n_at_once = std::clamp<uint64_t>(kTileBytes / source_->row_size(), 1, n_mat_rows);
    std::vector<std::byte> tile(n_at_once * source_->row_size());
    for (uint64_t row = first_row, end = first_row + n_rows; row < end;) {
      const uint64_t mat = row / n_per_mat, col = row % n_per_mat, n = std::min(end - row, n_per_mat - col);
      for (uint64_t from = 0; from < n_mat_rows; from += n_at_once) {
        const uint64_t n_read = std::min(n_at_once, n_mat_rows - from);
        RZ_CHECK_OK(source_->read(mat * n_mat_rows + from, n_read, tile.data()));
        for (uint64_t r = 0; r < n_read; ++r) {
          for (uint64_t c = 0; c < n; ++c) {
            std::memcpy(out + (c * n_mat_rows + from + r) * elem, tile.data() + (r * n_per_mat + col + c) * elem, elem);
          }
        }
      }
      row += n;
      out += n * row_size();
    }
    return {};
  }
};

class ColumnRows : public DerivedRows {
 public:
  ColumnRows(const MatrixRows& source, std::vector<uint32_t> order)
      : DerivedRows(source, source->type(), source->n_rows(), order.size()), order_(std::move(order)) {}

  Status read(uint64_t first_row, uint64_t n_rows, std::byte* out) const override {
    const size_t elem = traits(type()).block_bytes;
    std::vector<std::byte> row(source_->row_size());
    for (uint64_t i = 0; i < n_rows; ++i) {
      RZ_CHECK_OK(source_->read(first_row + i, 1, row.data()));
      for (const uint32_t from : order_) out = std::copy_n(row.data() + from * elem, elem, out);
    }
    return {};
  }

 private:
  const std::vector<uint32_t> order_;
};

// Rows as floats, whatever their type.
Status read_floats(const RowSource& source, uint64_t first_row, uint64_t n_rows, float* out) {
  if (source.type() == TypeId::kF32) return source.read(first_row, n_rows, reinterpret_cast<std::byte*>(out));
  std::vector<std::byte> stored(n_rows * source.row_size());
  RZ_CHECK_OK(source.read(first_row, n_rows, stored.data()));
  traits(source.type()).decode(stored.data(), out, n_rows * source.n_cols());
  return {};
}

class ChangedRows : public DerivedRows {
 public:
  ChangedRows(const MatrixRows& source, std::function<void(uint64_t, std::span<float>)> change)
      : DerivedRows(source, TypeId::kF32, source->n_rows(), source->n_cols()), change_(std::move(change)) {}

  Status read(uint64_t first_row, uint64_t n_rows, std::byte* out) const override {
    std::vector<float> values(n_rows * n_cols());
    RZ_CHECK_OK(read_floats(*source_, first_row, n_rows, values.data()));
    for (uint64_t i = 0; i < n_rows; ++i) change_(first_row + i, std::span(values).subspan(i * n_cols(), n_cols()));
    std::memcpy(out, values.data(), values.size() * sizeof(float));
    return {};
  }

 private:
  const std::function<void(uint64_t, std::span<float>)> change_;
};

class ReshapedRows : public DerivedRows {
 public:
  ReshapedRows(const MatrixRows& source, uint64_t n_cols)
      : DerivedRows(source, source->type(), source->n_rows() * source->n_cols() / n_cols, n_cols) {}

  Status read(uint64_t first_row, uint64_t n_rows, std::byte* out) const override {
    const uint64_t first = first_row * n_cols(), n = n_rows * n_cols(), n_source = source_->n_cols();
    const uint64_t from = first / n_source, to = (first + n + n_source - 1) / n_source;
    const size_t elem = traits(type()).block_bytes;
    if (first % n_source == 0 && n % n_source == 0) return source_->read(from, to - from, out);
    std::vector<std::byte> rows((to - from) * source_->row_size());
    RZ_CHECK_OK(source_->read(from, to - from, rows.data()));
    std::memcpy(out, rows.data() + (first - from * n_source) * elem, n * elem);
    return {};
  }
};

class ConvertedRows : public DerivedRows {
 public:
  ConvertedRows(const MatrixRows& source, TypeId type)
      : DerivedRows(source, type, source->n_rows(), source->n_cols()) {}

  const RowSource* unconverted() const override { return source_.get(); }

  Status read(uint64_t first_row, uint64_t n_rows, std::byte* out) const override {
    std::vector<float> values(n_rows * n_cols());
    RZ_CHECK_OK(read_floats(*source_, first_row, n_rows, values.data()));
    traits(type()).encode(values.data(), out, values.size());
    return {};
  }
};

MatrixRows without_blocks(MatrixRows source) {
  return traits(source->type()).block_elems == 1 ? source : rows_in_type(std::move(source), TypeId::kF32);
}

}  // namespace

Status check_rows(const TensorInfo& tensor, uint64_t n_cols) {
  const TypeTraits& type = traits(tensor.type);
  const bool has_scales = tensor.type == TypeId::kF8_E4M3 && tensor.shape.size() > 1;
  if (type.block_elems == 1 && tensor.packed == nullptr && !has_scales) return {};
  const uint64_t n_stored = tensor.shape.empty() ? 1 : tensor.shape.back();
  if (n_stored == n_cols && n_cols % type.block_elems == 0) return {};
  if (n_cols == 1) {
    return unsupported(fmt::format("tensor '{}': a vector of type {} is not supported", tensor.name, type.name),
                       tensor.name);
  }
  return unsupported(fmt::format("tensor '{}': expected rows of {} elements, actual shape [{}] of type {}", tensor.name,
                                 n_cols, fmt::join(tensor.shape, ", "), type.name),
                     tensor.name);
}

MatrixRows stored_rows(const ModelFile& file, const TensorInfo& tensor, uint64_t n_cols) {
  if (tensor.type == TypeId::kF8_E4M3) {
    return rows_in_type(std::make_shared<F8Rows>(file, tensor, n_cols), TypeId::kBF16);
  }
  return std::make_shared<StoredRows>(file, tensor, n_cols);
}

MatrixRows given_rows(std::vector<float> values, uint64_t n_cols) {
  return std::make_shared<GivenRows>(std::move(values), n_cols);
}

MatrixRows gathered_rows(std::vector<MatrixRows> sources, uint64_t n_rows, std::function<RowPlace(uint64_t)> place) {
  const bool are_alike = std::ranges::all_of(sources, [&](const MatrixRows& source) {
    return source->type() == sources.front()->type() && source->n_cols() == sources.front()->n_cols();
  });
  if (!are_alike) {
    for (MatrixRows& source : sources) source = rows_in_type(source, TypeId::kF32);
  }
  return std::make_shared<GatheredRows>(std::move(sources), n_rows, std::move(place));
}

MatrixRows ordered_rows(MatrixRows source, uint64_t n_rows, std::function<uint64_t(uint64_t)> from) {
  return gathered_rows({std::move(source)}, n_rows, [from = std::move(from)](uint64_t row) {
    return RowPlace{0, from(row)};
  });
}

MatrixRows joined_rows(std::vector<MatrixRows> sources) {
  if (sources.size() == 1) return sources.front();
  std::vector<uint64_t> ends;
  for (const MatrixRows& source : sources) ends.push_back((ends.empty() ? 0 : ends.back()) + source->n_rows());
  const uint64_t n_rows = ends.back();
  return gathered_rows(std::move(sources), n_rows, [ends = std::move(ends)](uint64_t row) {
    const auto at = static_cast<size_t>(std::ranges::upper_bound(ends, row) - ends.begin());
    return RowPlace{at, row - (at == 0 ? 0 : ends[at - 1])};
  });
}

MatrixRows turned_rows(MatrixRows source, uint64_t n_mat_rows) {
  return std::make_shared<TurnedRows>(without_blocks(std::move(source)), n_mat_rows);
}

MatrixRows with_columns(MatrixRows source, std::vector<uint32_t> order) {
  return std::make_shared<ColumnRows>(without_blocks(std::move(source)), std::move(order));
}

MatrixRows changed_rows(MatrixRows source, std::function<void(uint64_t, std::span<float>)> change) {
  return std::make_shared<ChangedRows>(std::move(source), std::move(change));
}

MatrixRows reshaped_rows(MatrixRows source, uint64_t n_cols) {
  if (source->n_cols() == n_cols) return source;
  return std::make_shared<ReshapedRows>(without_blocks(std::move(source)), n_cols);
}

MatrixRows rows_in_type(MatrixRows source, TypeId type) {
  if (source->type() == type) return source;
  return std::make_shared<ConvertedRows>(std::move(source), type);
}

Result<std::vector<float>> values_of(const RowSource& source, uint64_t first_row, uint64_t n_rows) {
  std::vector<float> values(n_rows * source.n_cols());
  RZ_CHECK_OK(read_floats(source, first_row, n_rows, values.data()));
  return values;
}

Result<std::vector<float>> all_values(const RowSource& source) {
  return values_of(source, 0, source.n_rows());
}

}  // namespace realizar
