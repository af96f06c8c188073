// Searches the scales and codes of blocks for the least weighted squared error. encode() of the types' table instead
// rounds by the largest value: in one pass, as key-value caches need it in the same way on every device. A quantizer
// has the time to search, and importance to weigh errors with.
//
// The blocks are the same on every processor.
#pragma once

#include <cstddef>

#include "quant/types.h"

namespace realizar {

// One row, or several consecutive ones that share their columns' weights. weights: null, or the weight of an error in
// each of the n columns, none negative. dst: n / block_elems blocks. n is a multiple of block_elems. All values are
// finite. A type without a search (F32, F16, BF16 and types that no quantizer makes) is encoded.
void fit_blocks(TypeId type, const float* x, const float* weights, std::byte* dst, size_t n);

// Decodes n values. False if one of them is infinite or NaN; then the content of dst is undefined.
bool read_finite(TypeId type, const std::byte* src, float* dst, size_t n);

}  // namespace realizar
