// The operations of recurrent layers. A sequence's rows are taken one after the other, by columns or by heads that know
// nothing of each other: so the bits of a state are a function of the rows before it, whatever steps and members had
// them.
#include <algorithm>
#include <cmath>

#include "backend/cpu/walker.h"

namespace realizar::cpu {
namespace {

constexpr uint32_t kConvCols = 64;  // of one item
constexpr uint32_t kScanDims = 32;  // of all heads of one item, about
constexpr uint32_t kDecays = 64;    // of a head that are found at a time

// state[k] *= e^(t * a[k])
void shrink(const KernelTable& kernels, float t, const float* a, uint32_t n, float* state) {
  float decays[kDecays];
  for (uint32_t first = 0; first < n; first += kDecays) {
    const uint32_t n_here = std::min(kDecays, n - first);
    for (uint32_t k = 0; k < n_here; ++k) decays[k] = t * a[first + k];
    kernels.map(MapKind::kExp, decays, n_here);
    for (uint32_t k = 0; k < n_here; ++k) state[first + k] *= decays[k];
  }
}

}  // namespace

void Walker::run(const ShortConvOp& op, const Hints&, uint32_t member) {
  const uint32_t n = n_cols(op.in), n_items = (n + kConvCols - 1) / kConvCols;
  share(static_cast<uint32_t>(batch_->seqs.size()) * n_items, member, [&](uint32_t item) {
    const uint32_t first = item % n_items * kConvCols;
    convolve(op, batch_->seqs[item / n_items], first, std::min(first + kConvCols, n));
  });
}

// A row's sum begins with the bias and goes on from the oldest tap. The rows before the sequence's first are written
// last, since they may lie where they were read.
void Walker::convolve(const ShortConvOp& op, const BatchSequence& seq, uint32_t first_col, uint32_t end_col) const {
  const uint32_t n = n_cols(op.in), n_before = op.n_taps - 1;
  const float* before = states_.part<float>(seq.state_from, op.layer, op.part);
  const float* weight = vector(op.weight);
  const float* bias = op.bias == kNoWeight ? nullptr : vector(op.bias);
  // The row that lies n_before rows before row 0 is row 0 here.
  const auto value = [&](uint32_t row, uint32_t col) {
    if (row >= n_before) return act(op.in, seq.first_row + row - n_before)[col];
    return seq.first_pos > 0 ? before[size_t{row} * n + col] : 0.0f;
  };
  for (uint32_t r = 0; r < seq.n_rows; ++r) {
    float* out = act(op.out, seq.first_row + r);
    for (uint32_t col = first_col; col < end_col; ++col) {
      float y = bias == nullptr ? 0.0f : bias[col];
      for (uint32_t i = 0; i < op.n_taps; ++i) y += weight[size_t{col} * op.n_taps + i] * value(r + i, col);
      out[col] = y;
    }
    if (op.activation != Activation::kNone) kernels_.map(map_kind(op.activation), out + first_col, end_col - first_col);
  }
  float* after = states_.part<float>(seq.state_to, op.layer, op.part);
  for (uint32_t row = 0; row < n_before; ++row) {
    for (uint32_t col = first_col; col < end_col; ++col) after[size_t{row} * n + col] = value(seq.n_rows + row, col);
  }
}

// Mamba's heads are a dimension each, and too small for an item of their own.
void Walker::run(const StateScanOp& op, const Hints&, uint32_t member) {
  const uint32_t n_each = (kScanDims + op.head_dim - 1) / op.head_dim, n_items = (op.n_heads + n_each - 1) / n_each;
  share(static_cast<uint32_t>(batch_->seqs.size()) * n_items, member, [&](uint32_t item) {
    const uint32_t first = item % n_items * n_each, end = std::min(first + n_each, op.n_heads);
    for (uint32_t head = first; head < end; ++head) scan_head(op, batch_->seqs[item / n_items], head);
  });
}

void Walker::scan_head(const StateScanOp& op, const BatchSequence& seq, uint32_t head) const {
  const size_t n = size_t{op.head_dim} * op.d_state;
  float* state = states_.part<float>(seq.state_to, op.layer, op.part) + head * n;
  if (seq.first_pos == 0) {
    std::fill_n(state, n, 0.0f);
  } else if (seq.state_from != seq.state_to) {
    std::copy_n(states_.part<float>(seq.state_from, op.layer, op.part) + head * n, n, state);
  }
  for (uint32_t r = seq.first_row; r < seq.first_row + seq.n_rows; ++r) scan_row(op, r, head, state);
}

void Walker::scan_row(const StateScanOp& op, uint32_t row, uint32_t head, float* state) const {
  const size_t group = head / (op.n_heads / op.n_groups), at = size_t{head} * op.head_dim;
  const float* x = act(op.x, row) + op.x_col + at;
  const float* b = act(op.b, row) + op.b_col + group * op.d_state;
  const float* c = act(op.c, row) + op.c_col + group * op.d_state;
  const float* a = vector(op.a) + size_t{head} * op.a_cols;
  const float dt = act(op.dt, row)[head] + vector(op.dt_bias)[head];
  const float t = std::log1p(std::exp(-std::fabs(dt))) + std::max(dt, 0.0f);  // softplus
  const float decay = std::exp(t * a[0]);
  float* out = act(op.out, row) + at;
  for (uint32_t i = 0; i < op.head_dim; ++i) {
    float* s = state + size_t{i} * op.d_state;
    if (op.a_cols == 1) {
      kernels_.scale(decay, s, op.d_state);
    } else {
      shrink(kernels_, t, a, op.d_state, s);
    }
    kernels_.axpy(t * x[i], b, s, op.d_state);
    out[i] = kernels_.dot_f32(s, c, op.d_state) + vector(op.d)[head] * x[i];
  }
  if (op.gate == kNoAct) return;
  const float* gate = act(op.gate, row) + at;
  for (uint32_t i = 0; i < op.head_dim; ++i) out[i] *= gate[i] / (1.0f + std::exp(-gate[i]));
}

}  // namespace realizar::cpu
