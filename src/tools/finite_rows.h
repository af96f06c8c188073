// The tools write no weight that is NaN or infinite, since a loader would refuse the file as damaged, and none that is
// far from what it was made from because its type has no such numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "quant/types.h"
#include "realizar/result.h"
#include "tools/row_source.h"

namespace realizar {

// Gives the values that a row of a tensor was made from.
using RowOrigin = std::function<Result<std::vector<float>>(uint64_t row)>;

// Checks `rows`, [n rows, n_cols] of the type, which are the tensor's from `first_row` on. `origin` may be empty: the
// rows are stored as they were read. Errors: FormatError, with the tensor's name, the row, and the type where it is too
// small for the row's values.
Status check_finite(const std::string& tensor, TypeId type, uint64_t n_cols, uint64_t first_row,
                    std::span<const std::byte> rows, const RowOrigin& origin = {});

// The same for rows of a source.
Status check_finite(const std::string& tensor, const RowSource& source, uint64_t first_row,
                    std::span<const std::byte> rows);

// The numbers that a type's blocks hold: their scales are halves in most types, and a fit stays within these.
struct ValueRange {
  float least, most;
};
ValueRange range_of(TypeId type);
// Checks `values`, [n rows, n_cols], before they become blocks of that range. Errors: as the other's.
Status check_range(const std::string& tensor, TypeId type, const ValueRange& range, uint64_t n_cols, uint64_t first_row,
                   std::span<const float> values);

}  // namespace realizar
