// Checks that stored weights are finite. Fast enough for every weight during loading: it only looks at the scales of
// blocks, and decodes only if one of them could overflow.
#pragma once

#include <cstddef>

#include "quant/types.h"

namespace realizar {

// src: as in TypeTraits::decode. False if an element is NaN or infinite once decoded.
bool all_finite(TypeId type, const std::byte* src, size_t n);

}  // namespace realizar
