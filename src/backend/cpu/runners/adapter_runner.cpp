#include "backend/cpu/runners/adapter_runner.h"

#include <algorithm>

#include "backend/cpu/runners/activations.h"

namespace realizar::cpu {
namespace {

constexpr uint32_t kUpPanels = 8;  // of outputs that an item has: each makes the sums of a row's pieces again

}  // namespace

void AdapterRunner::reserve(const Plan& plan) {
  if (!plan.has_adapters) return;
  all_rows_.reserve(step_.limits().max_rows);
  logit_rows_.reserve(step_.limits().max_logit_rows);
}

void AdapterRunner::begin_step() {
  if (!step_.plan().has_adapters) return;
  all_rows_.plan(step_.batch(), false);
  logit_rows_.plan(step_.batch(), true);
}

uint32_t AdapterRunner::rank_of(WeightId ranks, const AdapterBlock& block) const {
  return block.slot == BatchAdapter::kNone ? 0 : static_cast<uint32_t>(step_.vector(ranks)[block.slot]);
}

// One panel's columns of a piece, with up to dot_rows rows at a time.
void AdapterRunner::multiply_piece(const AdapterDownOp& op, const AdapterBlock& block, uint32_t panel,
                                   uint32_t piece) const {
  const PanelMatrix& m = step_.matrix(op.down);
  const uint32_t first_col = piece * kAdapterPiece, n = std::min(kAdapterPiece, m.n_cols - first_col);
  const uint32_t first = panel * kPanelRows, n_out = std::min(kPanelRows, rank_of(op.ranks, block) - first);
  const uint8_t* weights = m.panel(block.slot, panel) + size_t{first_col} * kPanelRows * sizeof(float);
  for (uint32_t i = 0; i < block.n_rows; i += kernels_.dot_rows) {
    const uint32_t n_rows = std::min(kernels_.dot_rows, block.n_rows - i);
    const AdapterRows& list = list_of(op.rows);
    const float* rows[kMaxDotRows];
    for (uint32_t r = 0; r < n_rows; ++r) rows[r] = step_.act(op.in, list.row(block.first + i + r)) + first_col;
    float y[kMaxDotRows * kPanelRows];
    kernels_of(kernels_, m.type).dot_plain(weights, n, rows, n_rows, y);
    for (uint32_t r = 0; r < n_rows; ++r) {
      const uint32_t idx = block.first + i + r;
      const float factor = op.factor * list.factor(idx);
      float* low = step_.act(op.low, list.row(idx)) + size_t{piece} * m.n_rows + first;
      for (uint32_t k = 0; k < n_out; ++k) low[k] = factor * y[r * kPanelRows + k];
    }
  }
}

void AdapterRunner::run(const AdapterDownOp& op, const Hints&, uint32_t member) {
  const PanelMatrix& m = step_.matrix(op.down);
  const auto& blocks = list_of(op.rows).blocks();
  const uint32_t n_panels = m.n_panels(), n_each = n_panels * n_adapter_pieces(m.n_cols);
  step_.share(static_cast<uint32_t>(blocks.size()) * n_each, member, [&](uint32_t item) {
    const AdapterBlock& block = blocks[item / n_each];
    const uint32_t panel = item % n_panels;
    if (panel * kPanelRows >= rank_of(op.ranks, block)) return;
    multiply_piece(op, block, panel, item % n_each / n_panels);
  });
}

// Adds to outputs [first, first + n) of up to dot_rows of the block's rows, from its row `begin` on.
void AdapterRunner::add_up(const AdapterUpOp& op, const AdapterBlock& block, uint32_t begin, uint32_t first,
                           uint32_t n) const {
  const PanelMatrix& m = step_.matrix(op.up);
  const uint32_t n_rows = std::min(kernels_.dot_rows, block.n_rows - begin), rank = rank_of(op.ranks, block);
  const AdapterRows& list = list_of(op.rows);
  float sums[kMaxDotRows][kMaxAdapterRank];
  const float* rows[kMaxDotRows];
  for (uint32_t r = 0; r < n_rows; ++r) {
    rows[r] = sums[r];
    const float* low = step_.act(op.low, list.row(block.first + begin + r));
    std::copy_n(low, rank, sums[r]);
    for (uint32_t p = 1; p < op.n_pieces; ++p) kernels_.axpy(1.0f, low + size_t{p} * m.n_cols, sums[r], rank);
  }
  for (uint32_t at = first; at < first + n; at += kPanelRows) {
    float y[kMaxDotRows * kPanelRows];
    kernels_of(kernels_, m.type).dot_plain(m.panel(block.slot, at / kPanelRows), rank, rows, n_rows, y);
    const uint32_t n_out = std::min(kPanelRows, m.n_rows - at);
    for (uint32_t r = 0; r < n_rows; ++r) {
      kernels_.axpy(1.0f, y + size_t{r} * kPanelRows, step_.act(op.out, list.row(block.first + begin + r)) + at, n_out);
    }
  }
}

void AdapterRunner::run(const AdapterUpOp& op, const Hints&, uint32_t member) {
  const uint32_t n_cols = step_.matrix(op.up).n_rows, n_each = kUpPanels * kPanelRows;
  const uint32_t n_parts = (n_cols + n_each - 1) / n_each;
  const AdapterRows& list = list_of(op.rows);
  step_.share(static_cast<uint32_t>(list.blocks().size()) * n_parts, member, [&](uint32_t item) {
    const AdapterBlock& block = list.blocks()[item / n_parts];
    const uint32_t first = item % n_parts * n_each, n = std::min(n_each, n_cols - first);
    if (rank_of(op.ranks, block) > 0) {
      for (uint32_t i = 0; i < block.n_rows; i += kernels_.dot_rows) add_up(op, block, i, first, n);
    }
    for (uint32_t i = 0; op.changes_all() && i < block.n_rows; ++i) {
      activate(kernels_, op, step_.act(op.out, list.row(block.first + i)) + first, n);
    }
  });
}

}  // namespace realizar::cpu
