#include "base/amounts.h"

#include <fmt/format.h>

#include <iterator>

namespace realizar {

std::string bytes_text(uint64_t n_bytes) {
  constexpr const char* kUnits[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
  if (n_bytes < 1000) return fmt::format("{} bytes", n_bytes);
  double amount = static_cast<double>(n_bytes) / 1000;
  size_t unit = 0;
  // An amount that would be rounded to 1000 is shown as 1 of the next unit.
  while (amount >= 999.5 && unit + 1 < std::size(kUnits)) {
    amount /= 1000;
    ++unit;
  }
  const bool is_coarse = unit < 2;  // no decimals below gigabytes
  const int n_decimals = amount >= 99.95 ? 0 : amount >= 9.995 || is_coarse ? 1 : 2;
  return fmt::format("{:.{}f} {}", amount, n_decimals, kUnits[unit]);
}

std::string grouped_text(uint64_t n) {
  std::string text = std::to_string(n);
  for (size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

}  // namespace realizar
