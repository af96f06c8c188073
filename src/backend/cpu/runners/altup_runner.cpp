#include "backend/cpu/runners/altup_runner.h"

#include <algorithm>

namespace realizar::cpu {
namespace {

constexpr uint32_t kBlockCols = 256;

}  // namespace

void AltUpRunner::run(const AltUpOp& op, const Hints&, uint32_t member) {
  const uint32_t n_blocks = (step_.n_cols(op.x) + kBlockCols - 1) / kBlockCols;
  step_.share(step_.batch().n_rows() * n_blocks, member, [&](uint32_t i) {
    const uint32_t row = i / n_blocks, first = i % n_blocks * kBlockCols;
    const uint32_t n = std::min(kBlockCols, step_.n_cols(op.x) - first);
    op.corrects ? correct_streams(op, row, first, n) : predict_streams(op, row, first, n);
  });
}

// k[i] of AltUpOp for the row.
float AltUpRunner::coefficient(const AltUpOp& op, uint32_t row, uint32_t i) const {
  const float *coefs = step_.vector(op.coefs) + size_t{i} * op.n_streams, *router = step_.act(op.router, row);
  float sum = 0;
  for (uint32_t j = 0; j < op.n_streams; ++j) sum += coefs[j] * router[j];
  return sum;
}

void AltUpRunner::predict_streams(const AltUpOp& op, uint32_t row, uint32_t first, uint32_t n) const {
  const uint32_t n_streams = std::min(op.n_streams, kMaxStreams);  // a bound for the compiler
  float before[kMaxStreams][kBlockCols];
  for (uint32_t j = 0; j < n_streams; ++j) std::copy_n(step_.act(op.streams[j], row) + first, n, before[j]);
  for (uint32_t i = 0; i < n_streams; ++i) {
    float* state = step_.act(op.streams[i], row) + first;
    for (uint32_t j = 0; j < n_streams; ++j) {
      kernels_.axpy(coefficient(op, row, i * n_streams + j), before[j], state, n);
    }
  }
  std::copy_n(step_.act(op.streams[0], row) + first, n, step_.act(op.x, row) + first);
}

void AltUpRunner::correct_streams(const AltUpOp& op, uint32_t row, uint32_t first, uint32_t n) const {
  float unpredicted[kBlockCols];
  float *x = step_.act(op.x, row) + first, *active = step_.act(op.streams[0], row) + first;
  for (uint32_t c = 0; c < n; ++c) unpredicted[c] = x[c] - active[c];
  for (uint32_t i = 0; i < op.n_streams; ++i) {
    kernels_.axpy(1.0f + coefficient(op, row, i), unpredicted, step_.act(op.streams[i], row) + first, n);
  }
  const float* scale = op.scale == kNoWeight ? nullptr : step_.vector(op.scale) + first;
  for (uint32_t c = 0; c < n; ++c) x[c] = scale == nullptr ? active[c] : active[c] * scale[c];
}

}  // namespace realizar::cpu
