// Whether a backend computes what another one does, on this machine and with this model.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "api/loaded_model.h"

namespace realizar {

// How far two backends with one type of cache may be from each other, as shares of the range that a position's logits
// have.
struct ParityBounds {
  double max_error = 0, tie = 0;  // tokens whose logits are within `tie` of each other may change places

  static ParityBounds of(CacheType type);
};

struct ParityDifference {
  double error = 0;         // the largest, of the range of its position's logits; infinite where one is no number
  uint32_t n_same = 0;      // positions with the same likeliest token
  uint32_t n_agreeing = 0;  // the same, or one within the tie
  uint32_t n_positions = 0;

  // Small enough to be what rounding explains, and nearly always the same choice.
  bool is_rounding(const ParityBounds& bounds) const;
};
// Compares the logits that two backends give, [n positions, n_vocab] each.
ParityDifference compare_logits(std::span<const float> actual, std::span<const float> expected, size_t n_vocab,
                                const ParityBounds& bounds);

// Loads the model once more, on the CPU (a model on the CPU: on the reference backend), for the same context, which
// rotations may depend on, and with the same type of cache. Compares the logits of a short text, half of it as a prompt
// and half as generated tokens. Gives a line that says what was compared, and how
// far the two are from each other. Errors: those of loading; Internal where they are farther than rounding explains.
Result<std::string> check_parity(LoadedModel& loaded, const LoadOptions& options);

}  // namespace realizar
