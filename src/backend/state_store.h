// Recurrent states in host memory: n_states slots, each with all parts of all layers in order, aligned to cache lines.
// The operation defines the contents of a part.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "backend/state_layout.h"
#include "backend/step_batch.h"
#include "realizar/result.h"

namespace realizar {

class StateStore {
 public:
  // Errors: ResourceExhausted.
  Status create(const CacheLayout& layout);

  size_t slot_bytes() const { return slot_bytes_; }
  size_t bytes() const { return n_bytes_; }
  // A part of a layer's state in a slot.
  template <class T>
  T* part(StateId slot, uint32_t layer, uint32_t part) const {
    return reinterpret_cast<T*>(at(slot) + offsets_[layer][part]);
  }
  void read(StateId slot, std::span<std::byte> bytes) const;
  void write(StateId slot, std::span<const std::byte> bytes) const;
  void zero(StateId slot) const;

 private:
  struct Free {
    void operator()(std::byte* bytes) const;
  };
  std::byte* at(StateId slot) const { return first_ + static_cast<size_t>(slot) * slot_bytes_; }

  std::vector<std::vector<size_t>> offsets_;  // [n_layers, parts of each] in a slot
  size_t slot_bytes_ = 0, n_bytes_ = 0;
  std::unique_ptr<std::byte, Free> memory_;
  std::byte* first_ = nullptr;
};

}  // namespace realizar
