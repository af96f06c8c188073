// Checks where a tensor may be stored: the only code that validates shapes, sizes and ranges from outside, for every
// format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/model_file.h"
#include "quant/types.h"
#include "realizar/result.h"

namespace realizar {

// An error in bytes from outside: "<file>: <field> at byte <offset>: expected <expected>, actual <actual>".
Error field_error(std::string_view file, std::string_view field, uint64_t offset, std::string_view expected,
                  std::string_view actual);

// The error for a file that is shorter than announced: "<file>: the file is cut off: 3.0 MB of 4.8 MB; download it
// again".
Error cut_off_error(std::string_view file, uint64_t n_bytes, uint64_t n_expected_bytes);

// The error for a file that ends within the data that `field` at `offset` announces, if the complete length is unknown:
// "<file>: the file is cut off or damaged: it has 3.0 kB, and <field> at byte 922 needs at least 2048 x 8 bytes;
// download it again".
Error ends_within_error(std::string_view file, uint64_t n_file_bytes, std::string_view field, uint64_t offset,
                        uint64_t n, uint64_t elem_bytes);

// "[4096, 14336]", outermost first.
std::string shape_to_string(std::span<const uint64_t> shape);

// Size of a tensor with elements of `elem_bytes` each. FormatError on a zero dimension, or a product over 2^63.
Result<uint64_t> plain_tensor_bytes(std::span<const uint64_t> shape, uint64_t elem_bytes);

// Size of a tensor of a stored type; FormatError also if the last dimension is not a whole number of blocks.
Result<uint64_t> tensor_bytes(const TypeTraits& type, std::span<const uint64_t> shape);

// FormatError if two tensors of the file overlap. `file_start`: the base of offsets in the message.
Status check_no_overlap(std::span<const TensorInfo> tensors, const std::byte* file_start, std::string_view file);

// Name -> index; the names are views into `tensors`. FormatError on a duplicate name.
using TensorIndex = std::unordered_map<std::string_view, size_t>;
Result<TensorIndex> index_tensors(std::span<const TensorInfo> tensors, std::string_view file);

}  // namespace realizar
