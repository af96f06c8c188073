// Checks that a backend computes the same results as another one, on this machine and with this model.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "api/loaded_model.h"

namespace realizar {

// The permitted difference between two backends with the same type of cache, relative to the range of a position's
// logits.
struct ParityBounds {
  double max_error = 0, tie = 0;  // tokens whose logits are within `tie` of each other may swap ranks

  static ParityBounds of(CacheType type);
};

struct ParityDifference {
  double error = 0;         // the largest, relative to the range of its position's logits; infinite if one is not a
                            // number
  uint32_t n_same = 0;      // positions with the same likeliest token
  uint32_t n_agreeing = 0;  // the same likeliest token, or one within the tie
  uint32_t n_positions = 0;

  // Whether rounding explains the difference: small errors, and nearly always the same choice.
  bool is_rounding(const ParityBounds& bounds) const;
};
// Compares the logits of two backends, [n positions, n_vocab] each.
ParityDifference compare_logits(std::span<const float> actual, std::span<const float> expected, size_t n_vocab,
                                const ParityBounds& bounds);

// Loads the model once more, on the CPU (or on the reference backend if it is on the CPU), with the same context, which
// may affect rotations, and the same type of cache. Compares the logits of a short text, half of it as a prompt and
// half as generated tokens. Returns a line that describes the comparison and the difference. Errors: those of loading;
// Internal if the difference exceeds rounding.
Result<std::string> check_parity(LoadedModel& loaded, const LoadOptions& options);

}  // namespace realizar
