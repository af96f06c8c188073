// Vectors as clients are given them.
#pragma once

#include <cstddef>
#include <vector>

#include "server/http/json_pieces.h"

namespace realizar::server {

// The first values of a vector that was made for it (Matryoshka), of the length 1 again.
std::vector<float> shortened(std::vector<float> values, size_t n_values);

// The numbers as a list, each of which prints as shortly as the float does.
Json vector_json(std::vector<float> values, JsonPieces& pieces);

}  // namespace realizar::server
