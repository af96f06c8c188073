#include "sampling/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace realizar {

std::string SamplingRange::text() const {
  if (std::isinf(max)) return above ? fmt::format("a finite number above {}", min) : fmt::format("{} or more", min);
  return above ? fmt::format("above {}, at most {}", min, max) : fmt::format("{} to {}", min, max);
}

Error out_of_range(const SamplingParameter& parameter, double value) {
  return invalid_argument(fmt::format("{}: expected {}, actual {}", parameter.name, parameter.range.text(), value),
                          std::string(parameter.name));
}

const SamplingParameter* find_sampling_parameter(std::string_view name) {
  const auto* found = std::ranges::find(kSamplingParameters, name, &SamplingParameter::name);
  return found == std::end(kSamplingParameters) ? nullptr : found;
}

Status set_sampling_parameter(SamplingParams& params, std::string_view name, double value) {
  const SamplingParameter* parameter = find_sampling_parameter(name);
  if (parameter == nullptr) {
    return invalid_argument(fmt::format("there is no sampling parameter '{}'", name), std::string(name));
  }
  return visit_parameter(*parameter, params, [&](auto& member) -> Status {
    using Number = std::remove_reference_t<decltype(member)>;
    if (!parameter->range.has(value)) return out_of_range(*parameter, value);
    if constexpr (std::is_integral_v<Number>) {
      constexpr double kLow = std::numeric_limits<Number>::min();
      constexpr double kEnd = 2.0 * static_cast<double>(Number{1} << (std::numeric_limits<Number>::digits - 1));
      if (value != std::trunc(value) || value < kLow || value >= kEnd) {
        return invalid_argument(
            fmt::format("{}: expected a whole number of {} bits, actual {}", name, 8 * sizeof member, value),
            std::string(name));
      }
    }
    member = static_cast<Number>(value);
    return {};
  });
}

}  // namespace realizar
