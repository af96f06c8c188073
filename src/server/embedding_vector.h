// Vectors as clients are given them.
#pragma once

#include <cstddef>
#include <vector>

namespace realizar::server {

// The first values of a vector that was made for it (Matryoshka), of the length 1 again.
std::vector<float> shortened(std::vector<float> values, size_t n_values);

}  // namespace realizar::server
