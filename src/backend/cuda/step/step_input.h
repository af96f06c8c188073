// A step's rows for the device: written to pinned memory, and uploaded in one copy.
#pragma once

#include <span>
#include <vector>

#include "backend/backend.h"
#include "backend/cuda/device/device.h"
#include "backend/cuda/kernels/kernels.h"

namespace realizar::cuda {

class StepInput {
 public:
  // max_blocks: maximum blocks per sequence, in each of n_groups groups of layers. Errors: ResourceExhausted.
  Status create(Device& device, const BackendLimits& limits, uint32_t max_blocks, uint32_t n_groups);
  // Size on the device.
  static size_t n_bytes_for(const BackendLimits& limits, uint32_t max_blocks, uint32_t n_groups) {
    return places_for(limits, max_blocks, n_groups).end * sizeof(int32_t);
  }
  void upload(Device& device, const StepBatch& batch);
  const StepView& view() const { return view_; }
  // The view with the block tables of one group.
  StepView view_of(uint32_t group) const {
    StepView view = view_;
    view.block_tables += size_t{group} * max_blocks_;
    return view;
  }
  // The tiles of the last uploaded batch, in device order: each begins where the next one ends.
  struct Tile {
    uint32_t first_row, n_rows, first_pos;
    uint32_t last_pos;  // in its sequence
  };
  std::span<const Tile> tiles() const { return tiles_; }

 private:
  void release(Device& device);
  void write_seqs(const StepBatch& batch);
  // Divides the prompt rows of each sequence into tiles.
  void write_tiles(const StepBatch& batch);

  struct Places {
    size_t counts, tokens, positions, seq_of_row, logit_rows, tiles, seqs, block_tables, end;  // in words
  };
  static Places places_for(const BackendLimits& limits, uint32_t max_blocks, uint32_t n_groups);
  static size_t max_tiles(const BackendLimits& limits);

  Places places_{};
  uint32_t max_blocks_ = 0, n_groups_ = 1;
  std::vector<Tile> tiles_;
  int32_t* host_ = nullptr;
  int32_t* device_words_ = nullptr;
  StepView view_{};
};

}  // namespace realizar::cuda
