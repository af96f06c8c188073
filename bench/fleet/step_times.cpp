#include "step_times.h"

#include <algorithm>

#include "base/check.h"

namespace realizar::fleet {

double StepTimes::decode_ms(uint32_t n_rows) const {
  REQUIRE(!decode.empty());
  if (n_rows == 0) return 0;
  if (n_rows <= decode.front().n_rows || decode.size() == 1) return decode.front().ms;
  auto above = std::ranges::find_if(decode, [n_rows](const Point& point) { return point.n_rows >= n_rows; });
  if (above == decode.end()) --above;
  const Point& below = above[-1];
  return below.ms + (above->ms - below.ms) * (double{1} * n_rows - below.n_rows) / (above->n_rows - below.n_rows);
}

double StepTimes::ms(const engine::StepWork& work) const {
  const uint32_t n_tokens = work.n_prompt_tokens + work.n_replayed_tokens;
  return decode_ms(work.n_decode_rows) + (n_tokens > 0 ? prompt_fixed_ms + prompt_token_ms * n_tokens : 0);
}

std::optional<StepTimes> measured_times(std::string_view machine) {
  if (machine == "cpu") {
    return StepTimes{{{1, 33}, {2, 38}, {4, 43}, {5, 57}, {8, 74}, {16, 95}, {32, 196}}, 60, 2.15};
  }
  if (machine == "gpu") return StepTimes{{{1, 1e3 / 294.7}, {16, 16e3 / 1916}, {64, 64e3 / 2796}}, 0, 1e3 / 7783};
  return std::nullopt;
}

}  // namespace realizar::fleet
