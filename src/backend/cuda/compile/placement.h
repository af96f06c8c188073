// Placement of layers and weights on several devices: each has some of the layers, and the first the weights outside
// layers; or, with shared layers, each has a part of every layer.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "backend/cuda/compile/command.h"

namespace realizar::cuda {

class Placement {
 public:
  static constexpr uint32_t kEverywhere = 0xffffffffu;

  Placement(size_t n_ranks, bool is_shared) : n_ranks_(static_cast<uint32_t>(n_ranks)), is_shared_(is_shared) {}

  uint32_t n_ranks() const { return n_ranks_; }
  bool is_shared() const { return is_shared_; }
  // Devices that share a layer.
  uint32_t n_sharing() const { return is_shared_ ? n_ranks_ : 1; }

  // Number of layers per device, in order; with shared layers, the number on each.
  void set_layers(std::span<const uint32_t> n_layers);
  bool has_layers() const { return !end_layers_.empty(); }
  // Gives layers that set_layers did not know to the last device.
  void set_n_layers(uint32_t n_layers) { end_layers_.back() = n_layers; }
  uint32_t first_layer_on(uint32_t rank) const { return is_shared_ || rank == 0 ? 0 : end_layers_[rank - 1]; }
  uint32_t end_layer_on(uint32_t rank) const { return end_layers_[rank]; }
  uint32_t n_layers_on(uint32_t rank) const { return end_layer_on(rank) - first_layer_on(rank); }
  // The device that has the layer, or the first that shares it.
  uint32_t rank_of_layer(uint32_t layer) const;

  // The device for a weight of the layer (-1: outside layers), or kEverywhere.
  uint32_t place_of_matrix(int32_t layer) const;
  uint32_t place_of_vector(int32_t layer) const;
  // Adds the next weight; `gives_parts`: each device has some columns, and its products are parts of sums.
  void add_weight(uint32_t place, bool gives_parts);
  bool gives_parts(WeightId id) const { return gives_parts_[static_cast<uint32_t>(id)]; }
  // The device required by a command, if any.
  std::optional<uint32_t> rank_of(const Command& command) const;

 private:
  std::optional<uint32_t> rank_of_weight(WeightId id) const;

  uint32_t n_ranks_;
  bool is_shared_;
  std::vector<uint32_t> end_layers_;     // per device
  std::vector<uint32_t> weight_places_;  // per weight
  std::vector<bool> gives_parts_;
};

}  // namespace realizar::cuda
