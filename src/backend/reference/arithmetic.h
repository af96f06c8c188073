// Arithmetic on numbers and single rows, naive and in double.
#pragma once

#include <cmath>
#include <cstdint>

#include "backend/ops.h"
#include "realizar/types.h"

namespace realizar::reference {

double dot(const float* a, const float* b, uint32_t n);
double sigmoid(double x);
double softplus(double x);
// cap * tanh(x / cap); x if cap is 0.
double softcapped(double x, double cap);
double rms(const float* x, uint32_t n);

double activated(Activation activation, double x);
double activated(Activation activation, const Xielu& xielu, double x);
// activation(gate) * up, for gated ffns and experts.
double gated_pair(Activation activation, double gate, double up);

// NormOp's formula for n elements; weight and bias may be null. `magnitude`: factor on the normalized row.
void normalize(const float* in, float* out, uint32_t n, NormKind kind, double eps, const float* weight,
               const float* bias, bool accumulate, double out_scale = 1, double magnitude = 1);

// Clamps to [-limit, limit]; 0: no limit.
void clip(float* values, uint32_t n, float limit);

// Rotates the pairs (i, i + n_rot / 2) of a head by pos * inv_freq[i], times `scale`.
void rotate(float* head, uint32_t n_rot, const float* inv_freq, Pos pos, double scale);

inline double temperature_at(const Temperature& temperature, Pos pos) {
  return 1 + temperature.slope * std::log(1.0 + temperature.n_steps(static_cast<uint32_t>(pos)));
}

}  // namespace realizar::reference
