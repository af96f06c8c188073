// How a model makes a vector of a text.
#pragma once

#include <cstdint>

namespace realizar {

// What to make of the hidden states of a prompt, where a vector is asked for and no text: the last one, the mean of
// all, or, of an encoder, the first one; or the model's scores of the prompt; or all of them, one after the other and
// as they are.
enum class Pooling : uint8_t { kNone, kLast, kMean, kFirst, kRank, kAll };

}  // namespace realizar
