// Where a step's sequence begins with a recurrent layer's state.
#pragma once

#include "backend/state_store.h"

namespace realizar::cpu {

// Values [first, first + n) of a part of the state that the sequence's step writes, as they are before its rows: zeros
// at position 0, else those of the state that it reads.
float* begun_state(const StateStore& states, const BatchSequence& seq, uint32_t layer, uint32_t part, size_t first,
                   size_t n);

}  // namespace realizar::cpu
