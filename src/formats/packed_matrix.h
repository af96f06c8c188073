// Matrices that other programs quantized, as SafeTensors files hold them: several tensors a matrix, whose layouts are
// none of `quant`. unpack() makes blocks of a type of `quant` from them while a model is loaded, a part at a time, so
// that a matrix is never there twice as a whole.
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
  // Rows [first_row, first_row + n_rows) as blocks of the tensor's type; `out` has their bytes. Rows of a stack of
  // matrices are counted through. Any thread may call it. Errors: FormatError (a value that the type cannot hold).
  virtual Status unpack(uint64_t first_row, uint64_t n_rows, std::byte* out) const = 0;
  // All bytes of the file that belong to the matrix.
  virtual std::vector<std::span<const std::byte>> parts() const = 0;
  // What every weight is multiplied by after all that; only types whose rows have a factor of their own.
  virtual std::optional<float> factor() const { return std::nullopt; }
};

// A tensor as a SafeTensors file has it, of any element type.
struct RawTensor {
  std::string name, dtype;  // "I32"
  std::vector<uint64_t> shape;
  std::span<const std::byte> data;
};

}  // namespace realizar
