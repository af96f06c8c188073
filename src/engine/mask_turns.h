// Masks of requests that are held to a form, computed between steps and a bounded part at a time: a sequence whose next
// mask is not there yet sits out, and no step is held up by it. The same masks give the same tokens, however late. They
// are not computed on threads of their own, which on a CPU would take the cores that every step waits for.
#pragma once

#include <cstdint>
#include <span>

#include "engine/sequence.h"

namespace realizar::engine {

class MaskTurns {
 public:
  // Of all masks in a step, in the units of TokenConstraint::prepare: about a millisecond.
  static constexpr uint64_t kWorkOfStep = 200'000;

  // Begins a step: goes on with the masks that are missing, those with the least work so far first, so that a small one
  // never waits for a large one. A sequence whose mask costs too much ends with an error. Gives whether one did.
  bool prepare(std::span<const SequencePtr> running);
  // Whether the mask after the newest token is there, where what is left of the step's work is enough for it.
  bool is_ready(Sequence& sequence);
  // The sequence has a further token.
  static void forget(Sequence& sequence);

 private:
  void go_on(Sequence& sequence, uint64_t max_work);

  uint64_t n_left_ = 0;
};

}  // namespace realizar::engine
