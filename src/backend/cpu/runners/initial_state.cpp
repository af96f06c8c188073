#include "backend/cpu/runners/initial_state.h"

#include <algorithm>

namespace realizar::cpu {

float* initial_state(const StateStore& states, const BatchSequence& seq, uint32_t layer, uint32_t part, size_t first,
                     size_t n) {
  float* state = states.part<float>(seq.state_to, layer, part) + first;
  if (seq.first_pos == 0) {
    std::fill_n(state, n, 0.0f);
  } else if (seq.state_from != seq.state_to) {
    std::copy_n(states.part<float>(seq.state_from, layer, part) + first, n, state);
  }
  return state;
}

}  // namespace realizar::cpu
