// Blocks whose scales and codes are searched for the least weighted squared error. encode() of the types' table rounds
// by the largest value instead: in one pass, as key-value caches need it on every device alike. A quantizer has the
// time to search, and importance to weigh errors by.
//
// The same blocks come out on every processor.
#pragma once

#include <cstddef>

#include "quant/types.h"

namespace realizar {

// One row, or several that share their columns' weights one after another. weights: null, or what an error in each of
// the n columns costs, none negative. dst: n / block_elems blocks. n is a multiple of block_elems. All values are
// finite. A type without a search (F32, F16, BF16 and what no quantizer makes) is encoded.
void fit_blocks(TypeId type, const float* x, const float* weights, std::byte* dst, size_t n);

// Decodes n values. False where one of them is infinite or NaN; then dst holds nothing of use.
bool read_finite(TypeId type, const std::byte* src, float* dst, size_t n);

}  // namespace realizar
