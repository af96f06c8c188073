#include "model/adapter_targets.h"

#include <algorithm>

#include "base/check.h"
#include "base/try.h"
#include "model/adapter_file.h"
#include "model/adapter_program.h"
#include "model/forward.h"

namespace realizar {
namespace {

Result<WeightId> load_stack(Backend& backend, const AdapterTarget& target, uint32_t n_mats, uint32_t n_rows,
                            uint32_t n_cols) {
  const std::vector<float> zeros(size_t{n_rows} * n_cols);
  MatrixSource source;
  source.name = "adapters";
  source.n_mats = n_mats;
  source.n_rows = n_rows;
  source.n_cols = n_cols;
  source.pieces.assign(n_mats, std::as_bytes(std::span(zeros)));
  source.layer = target.layer;
  source.is_writable = true;
  return backend.load_matrix(source);
}

}  // namespace

Result<AdapterTargets> AdapterTargets::create(std::vector<AdapterTarget> targets, const AdapterSlots& slots,
                                              const ModelConfig& config, const Weights& weights, Backend& backend) {
  AdapterTargets made;
  if (slots.n_slots == 0) return made;
  made.slots_ = slots;
  const std::vector<WeightId> products = adaptable_weights(build_forward(config, weights).program);
  for (AdapterTarget& target : targets) {
    if (std::ranges::find(products, target.weight) == products.end()) continue;
    RZ_TRY(target.down, load_stack(backend, target, slots.n_slots, slots.max_rank, target.n_cols));
    RZ_TRY(target.up, load_stack(backend, target, slots.n_slots, target.n_rows, slots.max_rank));
    RZ_TRY(target.ranks, backend.load_vector(std::vector<float>(slots.n_slots), target.layer));
    made.targets_.push_back(std::move(target));
  }
  return made;
}

const AdapterTarget* AdapterTargets::find(WeightId weight) const {
  const auto found = std::ranges::find(targets_, weight, &AdapterTarget::weight);
  return found == targets_.end() ? nullptr : &*found;
}

Status AdapterTargets::write(Backend& backend, uint32_t slot, const Adapter& adapter, size_t part,
                             std::span<float> ranks) const {
  REQUIRE(slot < slots_.n_slots && part < targets_.size());
  const AdapterTarget& target = targets_[part];
  const AdapterPair& pair = adapter.pairs[part];
  REQUIRE(pair.rank <= slots_.max_rank);
  if (pair.rank > 0) {
    RZ_CHECK_OK(backend.write_weights(target.down, size_t{slot} * slots_.max_rank, pair.down));
    RZ_CHECK_OK(backend.write_weights(target.up, size_t{slot} * target.n_rows, pair.up));
  }
  ranks[slot] = static_cast<float>(pair.rank);
  return backend.write_weights(target.ranks, 0, ranks);
}

uint64_t adapter_bytes(const Program& outline, const AdapterSlots& slots) {
  if (slots.n_slots == 0) return 0;
  uint64_t n_floats = 0;
  const auto count = [&](ActId in, ActId out) {
    constexpr uint64_t kMaxPadding = 31;  // floats per row
    const uint64_t n_in = outline.activations[static_cast<uint32_t>(in)].n_cols;
    const uint64_t n_out = outline.activations[static_cast<uint32_t>(out)].n_cols;
    n_floats += slots.n_slots * (slots.max_rank * (n_in + kMaxPadding) + n_out * (slots.max_rank + kMaxPadding));
  };
  for (const Op& op : outline.ops) {
    if (const auto* linear = std::get_if<LinearOp>(&op)) count(linear->in, linear->out);
    if (const auto* gated = std::get_if<GatedLinearOp>(&op)) {
      count(gated->in, gated->out);
      count(gated->in, gated->out);
    }
  }
  return n_floats * sizeof(float);
}

}  // namespace realizar
