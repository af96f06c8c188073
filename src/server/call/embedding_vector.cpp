#include "server/call/embedding_vector.h"

#include <cmath>
#include <utility>

namespace realizar::server {

std::vector<float> shortened(std::vector<float> values, size_t n_values) {
  values.resize(n_values);
  double square_sum = 0;
  for (const float x : values) square_sum += double{x} * x;
  const double scale = square_sum > 0 ? 1 / std::sqrt(square_sum) : 0;
  for (float& x : values) x = static_cast<float>(x * scale);
  return values;
}

Json vector_json(std::vector<float> values, JsonPieces& pieces) {
  const size_t n_values = values.size();
  return pieces.list(n_values, [values = std::move(values)](size_t i) -> Json { return decimal(values[i]); });
}

}  // namespace realizar::server
