// The matrices of a model that LoRA adapters may change, and the stacks in which a backend keeps the adapters.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "formats/model_file.h"
#include "realizar/result.h"

namespace realizar {

struct Weights;
struct ModelConfig;
struct Adapter;
struct Program;

// Slots for adapters that a model is loaded with; without any it takes no adapters.
struct AdapterSlots {
  uint32_t n_slots = 0;   // adapters at the same time
  uint32_t max_rank = 0;  // of an adapter
  bool operator==(const AdapterSlots&) const = default;
};

// Rows of a weight within a tensor of one file format.
struct TargetTensor {
  std::string name;            // "": adapters of this format cannot change it
  uint32_t n_rows = 0;         // of the tensor; the weight may be a part of it
  std::vector<uint32_t> rows;  // [n_rows of the weight], indices within the tensor
};

struct AdapterTarget {
  WeightId weight = kNoWeight;
  uint32_t n_rows = 0, n_cols = 0;
  int32_t layer = -1;
  TargetTensor gguf = {}, hf = {};
  // Stacks: [n_slots, max_rank, n_cols], [n_slots, n_rows, max_rank], [n_slots].
  WeightId down = kNoWeight, up = kNoWeight, ranks = kNoWeight;
};

class AdapterTargets {
 public:
  AdapterTargets() = default;
  // Keeps the targets that are products of the model's program, and allocates their stacks. Errors: the backend's.
  static Result<AdapterTargets> create(std::vector<AdapterTarget> targets, const AdapterSlots& slots,
                                       const ModelConfig& config, const Weights& weights, Backend& backend);

  const AdapterSlots& slots() const { return slots_; }
  std::span<const AdapterTarget> all() const { return targets_; }
  // Null if adapters cannot change the weight.
  const AdapterTarget* find(WeightId weight) const;

  // Writes an adapter's matrices for target `part` to a slot. Called between steps, while no sequence uses the slot,
  // and once for each part. `ranks`: this part's rank in every slot. Errors: the backend's.
  Status write(Backend& backend, uint32_t slot, const Adapter& adapter, size_t part, std::span<float> ranks) const;
  size_t n_parts() const { return targets_.size(); }

 private:
  AdapterSlots slots_;
  std::vector<AdapterTarget> targets_;
};

// Upper bound of a backend's memory for the slots, by a program whose weights are not loaded yet.
uint64_t adapter_bytes(const Program& outline, const AdapterSlots& slots);

}  // namespace realizar
