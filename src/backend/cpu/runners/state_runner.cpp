#include "backend/cpu/runners/state_runner.h"

#include <algorithm>
#include <cmath>

#include "backend/cpu/runners/activations.h"
#include "backend/cpu/runners/initial_state.h"

namespace realizar::cpu {
namespace {

constexpr uint32_t kConvCols = 64;  // per item
constexpr uint32_t kScanDims = 32;  // approximately, in all heads of one item
constexpr uint32_t kGateCols = 64;  // per pass

// out *= silu(gate)
void gate_by_silu(const KernelTable& kernels, const float* gate, uint32_t n, float* out) {
  float silu[kGateCols];
  for (uint32_t first = 0; first < n; first += kGateCols) {
    const uint32_t n_here = std::min(kGateCols, n - first);
    std::copy_n(gate + first, n_here, silu);
    kernels.map(MapKind::kSilu, silu, n_here);
    for (uint32_t i = 0; i < n_here; ++i) out[first + i] *= silu[i];
  }
}

}  // namespace

void StateRunner::run(const ShortConvOp& op, const Hints&, uint32_t member) {
  const uint32_t n = step_.n_cols(op.in), n_items = (n + kConvCols - 1) / kConvCols;
  step_.share(static_cast<uint32_t>(step_.batch().seqs.size()) * n_items, member, [&](uint32_t item) {
    const uint32_t first = item % n_items * kConvCols;
    convolve(op, step_.batch().seqs[item / n_items], first, std::min(first + kConvCols, n));
  });
}

// A row's sum starts with the bias and continues from the oldest tap. The rows before the sequence's first are written
// last, since they may overwrite their own source.
void StateRunner::convolve(const ShortConvOp& op, const BatchSequence& seq, uint32_t first_col,
                           uint32_t end_col) const {
  const uint32_t n = step_.n_cols(op.in), n_before = op.n_taps - 1, n_here = end_col - first_col;
  const float* before = states_.part<float>(seq.state_from, op.layer, op.part);
  const float* bias = op.bias == kNoWeight ? nullptr : step_.vector(op.bias) + first_col;
  // Columns of the row n_before rows before row `row`; null: before position 0.
  const auto columns = [&](uint32_t row) -> const float* {
    if (row >= n_before) return step_.act(op.in, seq.first_row + row - n_before) + first_col;
    return seq.first_pos > 0 ? before + size_t{row} * n + first_col : nullptr;
  };
  float tap[kConvCols];
  for (uint32_t r = 0; r < seq.n_rows; ++r) {
    float* out = step_.act(op.out, seq.first_row + r) + first_col;
    for (uint32_t col = 0; col < n_here; ++col) out[col] = bias == nullptr ? 0.0f : bias[col];
  }
  for (uint32_t i = 0; i < op.n_taps; ++i) {
    for (uint32_t col = 0; col < n_here; ++col)
      tap[col] = step_.vector(op.weight)[size_t{first_col + col} * op.n_taps + i];
    for (uint32_t r = 0; r < seq.n_rows; ++r) {
      const float* in = columns(r + i);
      if (in != nullptr) kernels_.mul_add(tap, in, step_.act(op.out, seq.first_row + r) + first_col, n_here);
    }
  }
  for (uint32_t r = 0; op.activation != Activation::kNone && r < seq.n_rows; ++r) {
    kernels_.map(map_kind(op.activation), step_.act(op.out, seq.first_row + r) + first_col, n_here);
  }
  if (!op.keeps_rows) return;
  float* after = states_.part<float>(seq.state_to, op.layer, op.part);
  for (uint32_t row = 0; row < n_before; ++row) {
    const float* from = columns(seq.n_rows + row);
    float* to = after + size_t{row} * n + first_col;
    if (from == nullptr) {
      std::fill_n(to, n_here, 0.0f);
    } else {
      std::copy_n(from, n_here, to);
    }
  }
}

// Mamba's heads have one dimension each, too small for an item each.
void StateRunner::run(const StateScanOp& op, const Hints&, uint32_t member) {
  const uint32_t n_each = (kScanDims + op.head_dim - 1) / op.head_dim, n_items = (op.n_heads + n_each - 1) / n_each;
  step_.share(static_cast<uint32_t>(step_.batch().seqs.size()) * n_items, member, [&](uint32_t item) {
    const uint32_t first = item % n_items * n_each;
    scan_heads(op, step_.batch().seqs[item / n_items], first, std::min(first + n_each, op.n_heads));
  });
}

void StateRunner::scan_heads(const StateScanOp& op, const BatchSequence& seq, uint32_t first, uint32_t end) const {
  const size_t n_each = size_t{op.head_dim} * op.d_state;
  float* state = initial_state(states_, seq, op.layer, op.part, first * n_each, (end - first) * n_each);
  for (uint32_t r = 0; r < seq.n_rows; r += kScanRows) {
    const uint32_t row = seq.first_row + r, n_rows = std::min(kScanRows, seq.n_rows - r);
    for (uint32_t h = first; h < end; ++h) scan_head(op, row, n_rows, h, state + (h - first) * n_each);
    if (op.gate == kNoAct) continue;
    const uint32_t at = first * op.head_dim, n = (end - first) * op.head_dim;
    for (uint32_t i = row; i < row + n_rows; ++i) {
      gate_by_silu(kernels_, step_.act(op.gate, i) + at, n, step_.act(op.out, i) + at);
    }
  }
}

void StateRunner::scan_head(const StateScanOp& op, uint32_t row, uint32_t n_rows, uint32_t head, float* state) const {
  const float* a = step_.vector(op.a) + size_t{head} * op.a_cols;
  float times[kScanRows], decays[kScanRows];
  for (uint32_t r = 0; r < n_rows; ++r) times[r] = step_.act(op.dt, row + r)[head] + step_.vector(op.dt_bias)[head];
  kernels_.map(MapKind::kSoftplus, times, n_rows);
  for (uint32_t r = 0; op.a_cols == 1 && r < n_rows; ++r) decays[r] = std::exp(times[r] * a[0]);
  const size_t at = size_t{head} * op.head_dim, group_at = size_t{head / (op.n_heads / op.n_groups)} * op.d_state;
  const ScanRows rows{.n_rows = n_rows,
                      .x = step_.act(op.x, row) + op.x_col + at,
                      .b = step_.act(op.b, row) + op.b_col + group_at,
                      .c = step_.act(op.c, row) + op.c_col + group_at,
                      .out = step_.act(op.out, row) + at,
                      .x_stride = step_.n_cols(op.x),
                      .b_stride = step_.n_cols(op.b),
                      .c_stride = step_.n_cols(op.c),
                      .out_stride = step_.n_cols(op.out),
                      .t = times,
                      .decay = decays,
                      .a = op.a_cols == 1 ? nullptr : a,
                      .d = step_.vector(op.d)[head]};
  kernels_.scan_rows(rows, op.head_dim, op.d_state, state);
}

}  // namespace realizar::cpu
