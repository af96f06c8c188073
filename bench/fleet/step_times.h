// How long steps take on a machine: of decode rows as measured, of prompt tokens a fixed part and one for each.
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
  std::vector<Point> decode;   // steps that only decode, by ascending rows; at least one
  double prompt_fixed_ms = 0;  // that any prompt tokens add to a step
  double prompt_token_ms = 0;  // that each of them adds

  // Between two points and after the last one along straight lines, before the first one as long as that.
  double decode_ms(uint32_t n_rows) const;
  double ms(const engine::StepWork& work) const;
};

// Measured machines by name (README.md says where the figures stand); nullopt: there is none of that name.
std::optional<StepTimes> measured_times(std::string_view machine);

}  // namespace realizar::fleet
