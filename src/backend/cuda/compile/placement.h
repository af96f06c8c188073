// Which of several devices has which layers and weights: each some of the layers, and the first what belongs to none;
// or, where they share every layer, each a part of all of them.
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
  // Devices that have a part of the same layer.
  uint32_t n_sharing() const { return is_shared_ ? n_ranks_ : 1; }

  // How many layers each device has, in order; where they are shared, that many each.
  void set_layers(std::span<const uint32_t> n_layers);
  bool has_layers() const { return !end_layers_.empty(); }
  // What set_layers did not know of is the last one's.
  void set_n_layers(uint32_t n_layers) { end_layers_.back() = n_layers; }
  uint32_t first_layer_on(uint32_t rank) const { return is_shared_ || rank == 0 ? 0 : end_layers_[rank - 1]; }
  uint32_t end_layer_on(uint32_t rank) const { return end_layers_[rank]; }
  uint32_t n_layers_on(uint32_t rank) const { return end_layer_on(rank) - first_layer_on(rank); }
  // The device that has the layer, or the first of those that share it.
  uint32_t rank_of_layer(uint32_t layer) const;

  // The device for a weight of that layer (-1: of none), or kEverywhere.
  uint32_t place_of_matrix(int32_t layer) const;
  uint32_t place_of_vector(int32_t layer) const;
  // The next weight; `gives_parts`: each device has some columns, and products with it are parts of sums.
  void add_weight(uint32_t place, bool gives_parts);
  bool gives_parts(WeightId id) const { return gives_parts_[static_cast<uint32_t>(id)]; }
  // The device that a command needs; none: any.
  std::optional<uint32_t> rank_of(const Command& command) const;

 private:
  std::optional<uint32_t> rank_of_weight(WeightId id) const;

  uint32_t n_ranks_;
  bool is_shared_;
  std::vector<uint32_t> end_layers_;     // of each device
  std::vector<uint32_t> weight_places_;  // of each weight
  std::vector<bool> gives_parts_;
};

}  // namespace realizar::cuda
