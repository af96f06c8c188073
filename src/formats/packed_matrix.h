// Matrices quantized by other programs, as stored in SafeTensors files: several tensors per matrix, in layouts outside
// of `quant`. unpack() converts them to blocks of a type in `quant` while a model is loaded, in parts, so that a whole
// matrix is never in memory twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/result.h"

namespace realizar {

class PackedMatrix {
 public:
  virtual ~PackedMatrix() = default;
  // Rows [first_row, first_row + n_rows) as blocks of the tensor's type; `out` has room for their bytes. In a stack of
  // matrices, rows are counted across matrices. Any thread may call it. Errors: FormatError (a value outside of the
  // type's range).
  virtual Status unpack(uint64_t first_row, uint64_t n_rows, std::byte* out) const = 0;
  // All bytes of the file that belong to the matrix.
  virtual std::vector<std::span<const std::byte>> parts() const = 0;
  // A final factor on every weight; only for types whose rows have such a factor.
  virtual std::optional<float> factor() const { return std::nullopt; }
};

// A tensor as stored in a SafeTensors file, of any element type.
struct RawTensor {
  std::string name, dtype;  // "I32"
  std::vector<uint64_t> shape;
  std::span<const std::byte> data;
};

}  // namespace realizar
