#include "engine/mask_turns.h"

#include <algorithm>

namespace realizar::engine {
namespace {

constexpr int64_t kTurnWork = MaskTurns::kWorkOfStep / 8;

Error too_costly() {
  return unsupported(
      "the grammar or schema is too ambiguous for this model's vocabulary: working out which tokens may come next "
      "costs too much",
      "grammar");
}

}  // namespace

bool MaskTurns::prepare(std::span<const SequencePtr> running) {
  n_left_ = kWorkOfStep;
  while (n_left_ > 0) {
    Sequence* least = nullptr;
    for (const SequencePtr& sequence : running) {
      const bool is_missing = !sequence->ended && sequence->lacks_mask();
      if (is_missing && (least == nullptr || sequence->mask_work < least->mask_work)) least = sequence.get();
    }
    if (least == nullptr) break;
    go_on(*least, kTurnWork);
  }
  return std::ranges::any_of(running, [](const SequencePtr& sequence) { return sequence->ended.has_value(); });
}

bool MaskTurns::is_ready(Sequence& sequence) {
  if (sequence.lacks_mask() && n_left_ > 0) go_on(sequence, n_left_);
  return !sequence.ended && !sequence.lacks_mask();
}

void MaskTurns::forget(Sequence& sequence) {
  sequence.has_mask = false;
  sequence.mask_work = 0;
}

void MaskTurns::go_on(Sequence& sequence, int64_t max_work) {
  using Readiness = TokenConstraint::Readiness;
  const int64_t n_given = std::min(n_left_, max_work);
  int64_t n_work = n_given;
  const Readiness readiness = sequence.request->constraint->prepare(n_work);
  // A constraint that is not ready has done some work, whatever it reports.
  const int64_t n_done = std::max<int64_t>(n_given - n_work, 1);
  n_left_ -= n_done;
  sequence.mask_work += static_cast<uint64_t>(n_done);
  sequence.has_mask = readiness == Readiness::kReady;
  if (readiness == Readiness::kTooCostly) sequence.fail(too_costly());
}

}  // namespace realizar::engine
