// Initial recurrent state of a sequence in a step.
#pragma once

#include "backend/state_store.h"

namespace realizar::cpu {

// Initializes values [first, first + n) of a state part in the slot that the sequence writes, and returns them: zeros
// at position 0, else a copy of the slot that it reads.
float* initial_state(const StateStore& states, const BatchSequence& seq, uint32_t layer, uint32_t part, size_t first,
                     size_t n);

}  // namespace realizar::cpu
