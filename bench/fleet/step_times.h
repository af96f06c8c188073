// The time of steps on a machine: for decode rows as measured, for prompt tokens a fixed part and one for each.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/step_budget.h"

namespace realizar::fleet {

struct StepTimes {
  struct Point {
    uint32_t n_rows;
    double ms;
  };
  std::vector<Point> decode;   // decode-only steps, by ascending rows; at least one
  double prompt_fixed_ms = 0;  // added to a step with any prompt tokens
  double prompt_token_ms = 0;  // added for each of them

  // Interpolated linearly between points and after the last one; before the first one constant.
  double decode_ms(uint32_t n_rows) const;
  double ms(const engine::StepWork& work) const;
};

// Measured machines by name (README.md has the sources of the numbers); nullopt: unknown.
std::optional<StepTimes> measured_times(std::string_view machine);

}  // namespace realizar::fleet
