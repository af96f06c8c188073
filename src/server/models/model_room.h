// The memory that a server has for its models, and who makes room for another one. Changes nothing itself.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "realizar/result.h"
#include "server/models/model_list.h"

namespace realizar::server {

struct ModelRoom {
  uint64_t memory_bytes = 0;  // for weights and caches of all models; 0: no bound
  uint32_t max_loaded = 0;    // models that are loaded at once; 0: no bound

  bool is_bounded() const { return memory_bytes > 0 || max_loaded > 0; }
};

inline constexpr const char* kMemorySubject = "memory_mb";
// ResourceExhausted, with that subject: the model takes more than is left for it.
Error beyond_memory(const std::string& id, uint64_t n_needed_bytes, uint64_t n_left_bytes);

// Before a load has counted the cache, the files alone.
uint64_t bytes_to_load(const ModelEntry& entry);
// The bytes that a model has or is getting.
uint64_t held_bytes(const ModelEntry& entry);

// The least recently used of `all` that nobody uses, as many as have to go until `wanted` fits beside the others and
// n_other_bytes. Errors: ResourceExhausted (all loaded models are in use, or it never fits).
Result<std::vector<ModelEntry*>> models_to_give_up(const ModelEntry& wanted, std::span<ModelEntry* const> all,
                                                   const ModelRoom& room, uint64_t n_other_bytes);

}  // namespace realizar::server
