// A program's activations in one block of memory.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "backend/program.h"

namespace realizar {

struct ActPlace {
  uint32_t n_cols = 0;
  Rows rows = Rows::kAll;
  size_t offset = 0;  // in bytes
};

struct ActLayout {
  std::vector<ActPlace> places;  // by ActId
  size_t n_bytes = 0;

  const ActPlace& operator[](ActId id) const { return places[static_cast<uint32_t>(id)]; }
};

// Sizes each for the most rows that the limits allow, aligned to `alignment` bytes.
inline ActLayout lay_out(std::span<const ActShape> shapes, const BackendLimits& limits, size_t alignment) {
  ActLayout layout;
  for (const ActShape& shape : shapes) {
    layout.places.push_back({shape.n_cols, shape.rows, layout.n_bytes});
    const size_t n_rows = shape.rows == Rows::kAll ? limits.max_rows : limits.max_logit_rows;
    const size_t n_bytes = n_rows * shape.n_cols * sizeof(float);
    layout.n_bytes += (n_bytes + alignment - 1) / alignment * alignment;
  }
  return layout;
}

}  // namespace realizar
