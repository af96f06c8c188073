#include "hub/near_names.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "base/ascii_case.h"
#include "base/suggest.h"

namespace realizar::hub {
namespace {

constexpr size_t kMaxNameBytes = 200, kMaxNames = 3;
constexpr size_t kMinSlipBytes = 3;  // any word is one slip away from a shorter one
constexpr size_t kFar = 1000;

// Letters that differ from the whole of the spelling.
size_t whole_distance(std::string_view given, std::string_view spelling) {
  const size_t most = given.size() < kMinSlipBytes ? 0 : std::clamp<size_t>(given.size() / 3, 1, 3);
  const size_t distance = edit_distance(given, spelling);
  // A word of which every letter would change is no slip.
  return distance <= most && distance < spelling.size() ? distance : kFar;
}

// Letters that differ from the beginning of the spelling: "lama3" is nearly the beginning of "llama3.2".
size_t beginning_distance(std::string_view given, std::string_view spelling) {
  const size_t most = std::min<size_t>(2, given.size() / 4);
  size_t best = kFar;
  for (size_t n = given.size() - most; n <= std::min(given.size() + most, spelling.size()); ++n) {
    best = std::min(best, edit_distance(given, spelling.substr(0, n)));
  }
  return best <= most ? best : kFar;
}

}  // namespace

std::vector<std::string> near_names(std::string_view given, std::span<const KnownName> known) {
  if (given.empty() || given.size() > kMaxNameBytes) return {};
  const std::string word = lower_case(given);
  struct Near {
    size_t distance;
    const std::string* name;
  };
  std::vector<Near> found;
  for (const KnownName& one : known) {
    if (one.spelling.size() > kMaxNameBytes) continue;
    const std::string spelling = lower_case(one.spelling);
    const size_t distance = std::min(whole_distance(word, spelling), beginning_distance(word, spelling));
    if (distance < kFar) found.push_back({distance, &one.name});
  }
  std::ranges::stable_sort(found, {}, &Near::distance);
  std::vector<std::string> names;
  for (const Near& near : found) {
    if (names.size() < kMaxNames && std::ranges::find(names, *near.name) == names.end()) names.push_back(*near.name);
  }
  return names;
}

}  // namespace realizar::hub
