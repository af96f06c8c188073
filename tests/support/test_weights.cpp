#include "support/test_weights.h"

#include <algorithm>
#include <cmath>

#include "quant/type_table.h"
#include "quant/types.h"

namespace realizar::test {
namespace {

// Neighbouring scales differ by up to a factor of 64, so that a wrong one shows.
void scale(TestMatrix& m, uint32_t seed) {
  const uint32_t n = n_row_scales(m.type, m.n_cols);
  m.scales = random_values(size_t{m.n_mats} * m.n_rows * n, seed);
  for (float& x : m.scales) x = std::exp2(3 * x);
  for (size_t i = 0; i < m.values.size(); ++i) {
    m.values[i] *= m.scales[i / m.n_cols * n + std::min<size_t>(i % m.n_cols / kF8ScaleCols, n - 1)];
  }
}

}  // namespace

// SplitMix64: a counter, mixed (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
std::vector<float> random_values(size_t n, uint32_t seed) {
  uint64_t state = seed;
  std::vector<float> values(n);
  for (float& value : values) {
    uint64_t bits = state += 0x9e3779b97f4a7c15u;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    value = static_cast<float>(bits >> 40) * 0x1p-23f - 1.0f;
  }
  return values;
}

TestMatrix random_matrix(TypeId type, uint32_t n_mats, uint32_t n_rows, uint32_t n_cols, uint32_t seed) {
  TestMatrix m{type, n_mats, n_rows, n_cols, {}, {}, {}, {}};
  m.values = random_values(size_t{n_mats} * n_rows * n_cols, seed);
  m.bytes.resize(row_bytes(traits(type), m.values.size()));
  traits(type).encode(m.values.data(), m.bytes.data(), m.values.size());
  traits(type).decode(m.bytes.data(), m.values.data(), m.values.size());
  if (n_row_scales(type, n_cols) > 0) scale(m, seed + 1);
  m.sizes.resize(m.values.size());
  for (size_t i = 0; i < m.values.size(); ++i) m.sizes[i] = std::fabs(m.values[i]);
  if (!form_of(type).has_min) return m;
  // Code 0 means just the minimum, so both it and the largest weight bound |minimum|, and |scale * code| is at most the
  // sum of the two.
  for (size_t begin = 0; begin < m.sizes.size(); begin += 32) {
    const auto group = m.sizes.begin() + static_cast<ptrdiff_t>(begin);
    std::fill_n(group, 32, 3 * *std::max_element(group, group + 32));
  }
  return m;
}

InputTable random_inputs(uint32_t n_tokens, uint32_t n_cols, uint32_t seed) {
  return {n_tokens, n_cols, random_values(size_t{n_tokens} * n_cols, seed)};
}

InputTable extreme_inputs(uint32_t n_tokens, uint32_t n_cols, uint32_t seed) {
  InputTable table = random_inputs(n_tokens, n_cols, seed);
  for (uint32_t i = 0; i < n_cols; ++i) {
    table.row(0)[i] = 0.0f;
    table.row(1)[i] *= 1e-4f;
    table.row(2)[i] *= 0x1p-130f;
    table.row(3)[i] = -0.0f;
    if (i % 3 == 0) table.row(4)[i] *= 0x1p-135f;
  }
  table.row(1)[n_cols / 3] = 1e4f;
  return table;
}

}  // namespace realizar::test
