// How a model turns a text into a vector.
#pragma once

#include <cstdint>

namespace realizar {

// The result made from a prompt's hidden states if a vector is requested instead of text: the last state, the mean of
// all, or, for an encoder, the first one; or the model's scores of the prompt; or all states in order, unchanged.
enum class Pooling : uint8_t { kNone, kLast, kMean, kFirst, kRank, kAll };

}  // namespace realizar
