// "Did you mean": the nearest of a list of words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace realizar {

// The number of letters to insert, delete, change or swap with a neighbour to turn one word into the other.
size_t edit_distance(std::string_view a, std::string_view b);

// The word of `known` that `word` is likely a typo of, or the only one that begins with `word`; empty if there is none.
std::string closest(std::string_view word, const std::vector<std::string>& known);

// "; did you mean WORD?", or an empty string.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

}  // namespace realizar
