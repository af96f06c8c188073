// MatrixRows of a matrix that is to be written, made when they are asked for: those of a tensor of a model file, or
// those in another order, turned over, with other values or in another type. Nothing is kept but what one call makes,
// so that a model larger than memory can be written. The model file must outlive them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/check.h"
#include "formats/model_file.h"
#include "quant/types.h"
#include "realizar/result.h"

namespace realizar {

class RowSource {
 public:
  RowSource(TypeId type, uint64_t n_rows, uint64_t n_cols) : type_(type), n_rows_(n_rows), n_cols_(n_cols) {
    REQUIRE(n_cols % traits(type).block_elems == 0);
  }
  virtual ~RowSource() = default;
  RowSource(const RowSource&) = delete;
  RowSource& operator=(const RowSource&) = delete;

  TypeId type() const { return type_; }
  uint64_t n_rows() const { return n_rows_; }
  uint64_t n_cols() const { return n_cols_; }  // a multiple of the type's block
  size_t row_size() const { return row_bytes(traits(type_), n_cols_); }

  // MatrixRows [first_row, first_row + n_rows); `out` has their bytes. Any thread may call it. Values that the type
  // cannot hold are infinite in it (tools/finite_rows.h). Errors: FormatError (packed codes that are none).
  virtual Status read(uint64_t first_row, uint64_t n_rows, std::byte* out) const = 0;
  // The same rows before they were brought into their type; null: they are as they come.
  virtual const RowSource* unconverted() const { return nullptr; }
  // The file's pages that they come from are not needed in memory any more.
  virtual void release() const = 0;

 private:
  TypeId type_;
  uint64_t n_rows_, n_cols_;
};

using MatrixRows = std::shared_ptr<const RowSource>;

// Whether the tensor can be read in rows of `n_cols` elements. Blocks, packed codes and scales follow the rows that a
// tensor is stored in; elements on their own can be read in any rows. Errors: Unsupported, which names the tensor.
Status check_rows(const TensorInfo& tensor, uint64_t n_cols);
// A tensor's, which check_rows has passed, all of them below each other; of an F8 matrix the values, in BF16, since
// GGUF has no F8.
MatrixRows stored_rows(const ModelFile& file, const TensorInfo& tensor, uint64_t n_cols);
// Of values that are there already, [n_rows, n_cols].
MatrixRows given_rows(std::vector<float> values, uint64_t n_cols);

struct RowPlace {
  size_t source;
  uint64_t row;
};
// Row i is that of place(i). All sources have rows of one type and width.
MatrixRows gathered_rows(std::vector<MatrixRows> sources, uint64_t n_rows, std::function<RowPlace(uint64_t)> place);
// The same of one source.
MatrixRows ordered_rows(MatrixRows source, uint64_t n_rows, std::function<uint64_t(uint64_t)> from);
// All rows of one source after those of the other.
MatrixRows joined_rows(std::vector<MatrixRows> sources);
// Each matrix of `n_mat_rows` rows becomes its transpose.
MatrixRows turned_rows(MatrixRows source, uint64_t n_mat_rows);
// Column i is that of order[i].
MatrixRows with_columns(MatrixRows source, std::vector<uint32_t> order);
// In F32, after `change`, which is given a row and its number.
MatrixRows changed_rows(MatrixRows source, std::function<void(uint64_t, std::span<float>)> change);
// The same values in rows of another width; of a type without blocks.
MatrixRows reshaped_rows(MatrixRows source, uint64_t n_cols);
MatrixRows rows_in_type(MatrixRows source, TypeId type);

// As floats, [n_rows, n_cols]: some rows, or all.
Result<std::vector<float>> values_of(const RowSource& source, uint64_t first_row, uint64_t n_rows);
Result<std::vector<float>> all_values(const RowSource& source);

}  // namespace realizar
