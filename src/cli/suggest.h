// "Did you mean": the nearest of some words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace realizar::cli {

// Letters to insert, delete, change or swap with a neighbour until one word is the other.
size_t edit_distance(std::string_view a, std::string_view b);

// The nearest of `known` that `word` may be a slip of, or else the only one that it begins; empty: none is near.
std::string closest(std::string_view word, const std::vector<std::string>& known);

// "; did you mean WORD?", or nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

}  // namespace realizar::cli
