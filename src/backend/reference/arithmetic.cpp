#include "backend/reference/arithmetic.h"

#include <algorithm>
#include <cmath>

namespace realizar::reference {

double dot(const float* a, const float* b, uint32_t n) {
  double sum = 0;
  for (uint32_t i = 0; i < n; ++i) sum += double{a[i]} * b[i];
  return sum;
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kSilu:
      return x / (1 + std::exp(-x));
    case Activation::kGelu:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::kGeluErf:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::kNormalCdf:
      return 0.5 * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::kRelu:
      return std::max(x, 0.0);
    case Activation::kReluSquared:
      return x > 0 ? x * x : 0.0;
    case Activation::kXielu:  // needs parameters, see the overload
      return x;
    case Activation::kClampedSwiglu: {
      const double gate = std::min(x, double{kSwigluLimit});
      return gate / (1 + std::exp(-double{kSwigluAlpha} * gate));
    }
    case Activation::kSigmoid:
      return sigmoid(x);
  }
  return x;
}

double activated(Activation activation, const Xielu& c, double x) {
  if (activation != Activation::kXielu) return activated(activation, x);
  return x > 0 ? c.alpha_p * x * x + c.beta * x : c.alpha_n * (std::expm1(std::min(x, double{c.eps})) - x) + c.beta * x;
}

double gated_pair(Activation activation, double gate, double up) {
  if (activation == Activation::kClampedSwiglu) {
    up = std::clamp(up, -double{kSwigluLimit}, double{kSwigluLimit}) + 1;
  }
  return activated(activation, gate) * up;
}

double softplus(double x) {
  return std::log1p(std::exp(-std::fabs(x))) + std::max(0.0, x);
}

double softcapped(double x, double cap) {
  return cap > 0 ? cap * std::tanh(x / cap) : x;
}

double rms(const float* x, uint32_t n) {
  return std::sqrt(dot(x, x, n) / n);
}

void normalize(const float* in, float* out, uint32_t n, NormKind kind, double eps, const float* weight,
               const float* bias, bool accumulate, double out_scale, double magnitude) {
  double mean = 0, power = 0;
  if (kind == NormKind::kLayer) {
    for (uint32_t i = 0; i < n; ++i) mean += in[i];
    mean /= n;
  }
  for (uint32_t i = 0; i < n; ++i) power += (in[i] - mean) * (in[i] - mean);
  const double scale = magnitude / std::sqrt(power / n + eps);
  for (uint32_t i = 0; i < n; ++i) {
    double y = (in[i] - mean) * scale;
    if (weight != nullptr) y *= weight[i];
    if (bias != nullptr) y += bias[i];
    out[i] = static_cast<float>((accumulate ? out[i] + y : y) * out_scale);
  }
}

void clip(float* values, uint32_t n, float limit) {
  for (uint32_t i = 0; limit > 0 && i < n; ++i) values[i] = std::clamp(values[i], -limit, limit);
}

void rotate(float* head, uint32_t n_rot, const float* inv_freq, Pos pos, double scale) {
  const uint32_t half = n_rot / 2;
  for (uint32_t i = 0; i < half; ++i) {
    const double angle = double{inv_freq[i]} * pos;
    const double c = std::cos(angle) * scale, s = std::sin(angle) * scale;
    const double a = head[i], b = head[i + half];
    head[i] = static_cast<float>(a * c - b * s);
    head[i + half] = static_cast<float>(a * s + b * c);
  }
}

}  // namespace realizar::reference
