#include "server/models/model_room.h"

#include <fmt/format.h>

#include <algorithm>

namespace realizar::server {

Error beyond_memory(const std::string& id, uint64_t n_needed_bytes, uint64_t n_left_bytes) {
  return {ErrorCode::kResourceExhausted,
          fmt::format("'{}' takes {} MB with its cache, and --memory-mb leaves {} MB; --ctx, --kv-tokens and --kv-type "
                      "make the cache smaller",
                      id, (n_needed_bytes >> 20) + 1, n_left_bytes >> 20),
          kMemorySubject};
}

uint64_t bytes_to_load(const ModelEntry& entry) {
  return std::max(entry.n_needed_bytes, bytes_on_disk(entry.source.path));
}

uint64_t held_bytes(const ModelEntry& entry) {
  const uint64_t n_wanted = entry.state == ModelEntry::State::kLoading ? entry.n_wanted_bytes : 0;
  return n_wanted + (entry.model != nullptr ? entry.model->n_bytes() : 0);
}

Result<std::vector<ModelEntry*>> models_to_give_up(const ModelEntry& wanted, std::span<ModelEntry* const> all,
                                                   const ModelRoom& room, uint64_t n_other_bytes) {
  std::vector<ModelEntry*> given_up;
  if (!room.is_bounded()) return given_up;
  // Nobody else goes for what cannot fit.
  if (room.memory_bytes > 0 && wanted.n_needed_bytes > room.memory_bytes) {
    return beyond_memory(wanted.source.id, wanted.n_needed_bytes, room.memory_bytes);
  }
  const uint64_t n_needed = bytes_to_load(wanted);
  uint64_t n_held = 0;
  uint32_t n_loaded = 0;
  std::vector<ModelEntry*> unused;
  for (ModelEntry* entry : all) {
    n_held += held_bytes(*entry);
    if (entry->state == ModelEntry::State::kLoading || entry->model != nullptr) ++n_loaded;
    // Nobody but the registry can hand it out, so that who has it alone keeps it alone.
    if (entry->model != nullptr && entry->is_unused()) unused.push_back(entry);
  }
  std::ranges::stable_sort(unused, {}, &ModelEntry::last_used);
  const auto fits = [&] {
    const bool has_memory =
        room.memory_bytes == 0 || n_held == 0 || n_held + n_other_bytes + n_needed <= room.memory_bytes;
    return has_memory && (room.max_loaded == 0 || n_loaded < room.max_loaded);
  };
  while (!fits()) {
    if (given_up.size() == unused.size()) {
      return Error{ErrorCode::kResourceExhausted,
                   fmt::format("'{}' needs {} MB, and all loaded models are in use", wanted.source.id, n_needed >> 20),
                   "model"};
    }
    given_up.push_back(unused[given_up.size()]);
    n_held -= held_bytes(*given_up.back());
    --n_loaded;
  }
  return given_up;
}

}  // namespace realizar::server
