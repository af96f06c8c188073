// "Did you mean", for names of models. Pure: the known names come from the caller.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace realizar::hub {

// One way to write a model's name, and the name as lists show it: "acme/x" and "hf:acme/x".
struct KnownName {
  std::string spelling, name;
};

// The names that `given` may be a slip of, or the beginning of: the nearest first, at most three, each once. Where
// several are equally near, the order of `known` decides. Upper and lower case are the same.
std::vector<std::string> near_names(std::string_view given, std::span<const KnownName> known);

}  // namespace realizar::hub
