// The tools write no weight that is NaN or infinite, since a loader would refuse the file as damaged, and none that is
// far from its source because the type's range is too small.
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

// Returns the values from which a row of a tensor was made.
using RowOrigin = std::function<Result<std::vector<float>>(uint64_t row)>;

// Checks `rows`, [n rows, n_cols] of the type, which begin at the tensor's row `first_row`. `origin` may be empty: the
// rows are stored as they were read. Errors: FormatError, with the tensor's name, the row, and the type if its range is
// too small for the row's values.
Status check_finite(const std::string& tensor, TypeId type, uint64_t n_cols, uint64_t first_row,
                    std::span<const std::byte> rows, const RowOrigin& origin = {});

// check_finite() for rows of a source.
Status check_finite(const std::string& tensor, const RowSource& source, uint64_t first_row,
                    std::span<const std::byte> rows);

// The range of a type's blocks: in most types their scales are F16, and a fit stays within these bounds.
struct ValueRange {
  float least, most;
};
ValueRange range_of(TypeId type);
// Checks `values`, [n rows, n_cols], before they are encoded to blocks with that range. Errors: as check_finite().
Status check_range(const std::string& tensor, TypeId type, const ValueRange& range, uint64_t n_cols, uint64_t first_row,
                   std::span<const float> values);

}  // namespace realizar
