// Masks of constrained requests, computed between steps and in bounded parts: a sequence whose next mask is not ready
// sits out, and no step is delayed by it. A mask that is late gives the same tokens. Masks are not computed on separate
// threads, which on a CPU would take the cores that every step needs.
#pragma once

#include <cstdint>
#include <span>

#include "engine/sequence.h"

namespace realizar::engine {

class MaskTurns {
 public:
  // Work for all masks in a step, in the units of TokenConstraint::prepare: about half a millisecond.
  static constexpr int64_t kWorkOfStep = 100'000;

  // Begins a step: continues the missing masks, those with the least work so far first, so that a small one never waits
  // for a large one. A sequence whose mask costs too much ends with an error. Returns whether one did.
  bool prepare(std::span<const SequencePtr> running);
  // Whether the mask after the newest token is ready, computing it if the rest of the step's work allows that.
  bool is_ready(Sequence& sequence);
  // The sequence has a new token.
  static void forget(Sequence& sequence);

 private:
  void go_on(Sequence& sequence, int64_t max_work);

  int64_t n_left_ = 0;
};

}  // namespace realizar::engine
