// The matrices of a model that adapters of low rank may change, and the stacks in which a backend keeps what they add.
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

// What a model is loaded with room for; no places: it takes no adapters, and nothing is different.
struct AdapterRoom {
  uint32_t n_places = 0;  // of adapters at a time
  uint32_t max_rank = 0;  // of each
  bool operator==(const AdapterRoom&) const = default;
};

// Where a weight's rows are in the tensors of a file format.
struct TargetTensor {
  std::string name;            // "": adapters of this format cannot change it
  uint32_t n_rows = 0;         // of the tensor, of which the weight may be a part
  std::vector<uint32_t> rows;  // [weight's rows]: each one's place in the tensor
};

struct AdapterTarget {
  WeightId weight = kNoWeight;
  uint32_t n_rows = 0, n_cols = 0;
  int32_t layer = -1;
  TargetTensor gguf = {}, hf = {};
  // Of the stacks: [n_places, max_rank, n_cols], [n_places, n_rows, max_rank], [n_places].
  WeightId down = kNoWeight, up = kNoWeight, ranks = kNoWeight;
};

class AdapterTargets {
 public:
  AdapterTargets() = default;
  // Of these targets keeps those that are products of the model's program, and has the backend make room. Errors: the
  // backend's.
  static Result<AdapterTargets> create(std::vector<AdapterTarget> targets, const AdapterRoom& room,
                                       const ModelConfig& config, const Weights& weights, Backend& backend);

  const AdapterRoom& room() const { return room_; }
  std::span<const AdapterTarget> all() const { return targets_; }
  // Null where adapters do not change the weight.
  const AdapterTarget* find(WeightId weight) const;

  // Between steps: writes what an adapter adds to the target `part` into a place that no sequence of a step has. The
  // place has the adapter when all are written. `ranks`: of this part in every place. Errors: the backend's.
  Status write(Backend& backend, uint32_t place, const Adapter& adapter, size_t part, std::span<float> ranks) const;
  size_t n_parts() const { return targets_.size(); }

 private:
  AdapterRoom room_;
  std::vector<AdapterTarget> targets_;
};

// What such room takes of a backend's memory, counted from a program whose weights are not loaded yet: at the most.
uint64_t adapter_bytes(const Program& outline, const AdapterRoom& room);

}  // namespace realizar
