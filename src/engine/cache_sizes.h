// The sizes of an engine's cache and steps, which follow from its options and the model's config.
#pragma once

#include <cstdint>
#include <span>

#include "backend/backend.h"
#include "engine/engine_options.h"

namespace realizar {
struct ModelConfig;
}

namespace realizar::engine {

// The backend must be configured with these before the model is loaded on it.
BackendLimits limits_for(const EngineOptions& options);
// The cache to create on the backend.
CacheLayout cache_layout_for(const ModelConfig& config, const EngineOptions& options);
// Host memory for the block lists of such a cache, the same for every backend.
uint64_t list_bytes_for(const ModelConfig& config, const EngineOptions& options);
// Number of blocks for a cache whose groups of layers have these windows.
uint32_t n_blocks_for(std::span<const uint32_t> windows, const EngineOptions& options);

}  // namespace realizar::engine
