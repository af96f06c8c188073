#include "backend/cuda/compile/placement.h"

#include <algorithm>

namespace realizar::cuda {

void Placement::set_layers(std::span<const uint32_t> n_layers) {
  uint32_t end = 0;
  for (const uint32_t n : n_layers) end_layers_.push_back(is_shared_ ? n : end += n);
}

uint32_t Placement::rank_of_layer(uint32_t layer) const {
  if (is_shared_) return 0;
  const auto last = end_layers_.end() - 1;
  return static_cast<uint32_t>(std::upper_bound(end_layers_.begin(), last, layer) - end_layers_.begin());
}

uint32_t Placement::place_of_matrix(int32_t layer) const {
  if (is_shared_) return kEverywhere;
  return layer < 0 ? 0 : rank_of_layer(static_cast<uint32_t>(layer));
}

uint32_t Placement::place_of_vector(int32_t layer) const {
  return layer < 0 ? kEverywhere : place_of_matrix(layer);
}

void Placement::add_weight(uint32_t place, bool gives_parts) {
  weight_places_.push_back(place);
  gives_parts_.push_back(gives_parts);
}

std::optional<uint32_t> Placement::rank_of_weight(WeightId id) const {
  const uint32_t place = id == kNoWeight ? kEverywhere : weight_places_[static_cast<uint32_t>(id)];
  return place == kEverywhere ? std::nullopt : std::optional(place);
}

namespace {

// The layer whose cache or state the command uses. Queries may use keys of an earlier layer.
std::optional<uint32_t> layer_of(const Command& command) {
  const auto* store = std::get_if<RopeStoreOp>(&command);
  if (store != nullptr && store->k == kNoAct) return std::nullopt;
  return std::visit(
      [](const auto& op) -> std::optional<uint32_t> {
        if constexpr (requires { op.layer; }) return op.layer;
        return std::nullopt;
      },
      command);
}

}  // namespace

std::optional<uint32_t> Placement::rank_of(const Command& command) const {
  const auto layer = layer_of(command);
  if (layer) return rank_of_layer(*layer);
  for (const WeightId id : uses_of(command).weights) {
    if (const auto rank = rank_of_weight(id)) return rank;
  }
  return std::nullopt;
}

}  // namespace realizar::cuda
