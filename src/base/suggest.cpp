#include "base/suggest.h"

#include <algorithm>

namespace realizar {

// Optimal string alignment: Levenshtein's distance with swaps of neighbours.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

std::string closest(std::string_view word, const std::vector<std::string>& known) {
  constexpr size_t kMaxWord = 64;
  if (word.empty() || word.size() > kMaxWord) return "";
  std::string best;
  size_t best_distance = std::max<size_t>(1, std::min<size_t>(3, word.size() / 3)) + 1;
  for (const std::string& candidate : known) {
    const size_t distance = edit_distance(word, candidate);
    // If every letter would change, the word is not a typo.
    if (distance < best_distance && distance < candidate.size()) {
      best = candidate;
      best_distance = distance;
    }
  }
  if (!best.empty()) return best;
  const auto begins = [&](const std::string& candidate) { return candidate.starts_with(word); };
  if (std::count_if(known.begin(), known.end(), begins) != 1) return "";
  return *std::find_if(known.begin(), known.end(), begins);
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const std::string near = closest(word, known);
  return near.empty() ? "" : "; did you mean " + near + "?";
}

}  // namespace realizar
