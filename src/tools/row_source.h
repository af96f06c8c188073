// Rows of a matrix to be written, made on demand: a tensor of a model file as it is, or reordered, transposed, with
// other values or in another type. Nothing is kept beyond one call, so that a model larger than memory can be written.
// The model file must outlive them.
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

  // Rows [first_row, first_row + n_rows); `out` has room for their bytes. Any thread may call it. Values outside the
  // type's range become infinite (tools/finite_rows.h). Errors: FormatError (invalid packed codes).
  virtual Status read(uint64_t first_row, uint64_t n_rows, std::byte* out) const = 0;
  // These rows before conversion to their type; null: they are not converted.
  virtual const RowSource* unconverted() const { return nullptr; }
  // Releases the file's pages that the rows come from.
  virtual void release() const = 0;

 private:
  TypeId type_;
  uint64_t n_rows_, n_cols_;
};

using MatrixRows = std::shared_ptr<const RowSource>;

// Whether the tensor can be read in rows of `n_cols` elements. Blocks, packed codes and scales follow the stored rows
// of a tensor; plain elements can be read in any rows. Errors: Unsupported, which names the tensor.
Status check_rows(const TensorInfo& tensor, uint64_t n_cols);
// All rows of a tensor that check_rows has accepted, as one matrix; an F8 matrix is converted to BF16, since GGUF has
// no F8.
MatrixRows stored_rows(const ModelFile& file, const TensorInfo& tensor, uint64_t n_cols);
// Rows of values in memory, [n_rows, n_cols].
MatrixRows given_rows(std::vector<float> values, uint64_t n_cols);

struct RowPlace {
  size_t source;
  uint64_t row;
};
// Row i comes from place(i). All sources have rows of the same type and width.
MatrixRows gathered_rows(std::vector<MatrixRows> sources, uint64_t n_rows, std::function<RowPlace(uint64_t)> place);
// gathered_rows() from a single source.
MatrixRows ordered_rows(MatrixRows source, uint64_t n_rows, std::function<uint64_t(uint64_t)> from);
// Concatenates the rows of the sources.
MatrixRows joined_rows(std::vector<MatrixRows> sources);
// Transposes each matrix of `n_mat_rows` rows.
MatrixRows turned_rows(MatrixRows source, uint64_t n_mat_rows);
// Column i comes from column order[i].
MatrixRows with_columns(MatrixRows source, std::vector<uint32_t> order);
// Rows in F32 after `change`, which gets a row and its index.
MatrixRows changed_rows(MatrixRows source, std::function<void(uint64_t, std::span<float>)> change);
// Reshapes values to rows of another width, for a type without blocks.
MatrixRows reshaped_rows(MatrixRows source, uint64_t n_cols);
MatrixRows rows_in_type(MatrixRows source, TypeId type);

// Values as floats, [n_rows, n_cols]: some rows, or all.
Result<std::vector<float>> values_of(const RowSource& source, uint64_t first_row, uint64_t n_rows);
Result<std::vector<float>> all_values(const RowSource& source);

}  // namespace realizar
