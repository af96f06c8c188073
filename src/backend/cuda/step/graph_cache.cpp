#include "backend/cuda/step/graph_cache.h"

#include <algorithm>
#include <bit>

namespace realizar::cuda {
namespace {

constexpr size_t kMaxSteps = 64;
constexpr uint64_t kLeastCuts = 2;  // per row, so that short contexts share a shape
constexpr uint32_t kEvenRows = 16;  // beyond this, rows are rounded up to multiples of it

uint32_t rounded_rows(uint32_t n, uint32_t limit) {
  const uint32_t rounded = n <= kEvenRows ? std::bit_ceil(n) : (n + kEvenRows - 1) / kEvenRows * kEvenRows;
  return std::min(rounded, limit);
}

}  // namespace

StepShape shared_shape(const StepShape& exact, const BackendLimits& limits) {
  StepShape shape = exact;
  shape.n_rows = shape.n_decode_rows = rounded_rows(exact.n_rows, limits.max_rows);
  shape.n_logit_rows = rounded_rows(exact.n_logit_rows, limits.max_logit_rows);
  shape.n_cuts = std::bit_ceil(std::max(exact.n_cuts, kLeastCuts * shape.n_rows));
  return shape;
}

const std::vector<GraphCache::StageGraph>* GraphCache::find(ProgramId program, const StepShape& shape) {
  const auto found = std::ranges::find_if(
      entries_, [&](const Entry& entry) { return entry.program == program && entry.shape == shape; });
  if (found == entries_.end()) return nullptr;
  found->last_use = ++n_uses_;
  return &found->graphs;
}

void GraphCache::keep(ProgramId program, const StepShape& shape, std::vector<StageGraph> graphs) {
  if (entries_.size() >= kMaxSteps) {
    const auto oldest = std::ranges::min_element(entries_, {}, &Entry::last_use);
    drop(*oldest);
    entries_.erase(oldest);
  }
  entries_.push_back({program, shape, std::move(graphs), ++n_uses_});
}

void GraphCache::forget_all() {
  for (const Entry& entry : entries_) drop(entry);
  entries_.clear();
}

void GraphCache::drop(const Entry& entry) {
  for (const StageGraph graph : entry.graphs) {
    if (graph) device_.drop(*graph);
  }
}

}  // namespace realizar::cuda
