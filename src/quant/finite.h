// Whether stored weights are numbers. Fast enough to run over every weight while a model is loaded: of blocks it looks
// at the scales alone, and decodes only where one of them could overflow.
#pragma once

#include <cstddef>

#include "quant/types.h"

namespace realizar {

// src: as TypeTraits::decode. False where an element is NaN or infinite once decoded.
bool all_finite(TypeId type, const std::byte* src, size_t n);

}  // namespace realizar
