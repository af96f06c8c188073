#include "backend/state_layout.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "base/try.h"

namespace realizar {

CacheLayout::CacheLayout(const KvLayout& alike)
    : layers(alike.n_layers, Paged{alike.n_kv_heads, alike.head_dim, alike.head_dim, 0}),
      block_tokens(alike.block_tokens),
      n_blocks(alike.n_blocks),
      type(alike.type) {}

size_t state_bytes(std::span<const StateLayout> layers) {
  size_t n_bytes = 0;
  for (const StateLayout& layer : layers) {
    const auto* own = std::get_if<Recurrent>(&layer);
    if (own != nullptr) n_bytes = std::accumulate(own->part_bytes.begin(), own->part_bytes.end(), n_bytes);
  }
  return n_bytes;
}

Result<Paged> paged(const CacheLayout& layout, uint32_t layer) {
  const auto* own = std::get_if<Paged>(&layout.layers[layer]);
  if (own != nullptr) return *own;
  return unsupported("layer " + std::to_string(layer) + " keeps a recurrent state, which this backend has no room for",
                     "layers");
}

KvLayout common_layout(const CacheLayout& layout) {
  return {.n_layers = static_cast<uint32_t>(layout.layers.size()),
          .block_tokens = layout.block_tokens,
          .n_blocks = layout.n_blocks,
          .type = layout.type,
          .n_groups = static_cast<uint32_t>(layout.groups().windows.size())};
}

namespace {

// Layers with the same window, and the elements they keep per position.
struct Window {
  uint32_t window;
  std::vector<uint32_t> layers;
  uint64_t n_numbers = 0;
};

std::vector<Window> windows_of(std::span<const StateLayout> layers) {
  std::vector<Window> windows;
  for (uint32_t layer = 0; layer < layers.size(); ++layer) {
    const auto* own = std::get_if<Paged>(&layers[layer]);
    if (own == nullptr) continue;
    auto found = std::ranges::find(windows, own->window, &Window::window);
    if (found == windows.end()) found = windows.insert(windows.end(), {own->window, {}});
    found->layers.push_back(layer);
    found->n_numbers += uint64_t{own->n_kv_heads} * (own->k_dim + own->v_dim);
  }
  return windows;
}

}  // namespace

// A window with more state than the smallest is split into several groups of about that size: a block is as large as
// the largest group's part of it, and other groups waste the rest. Fewer groups are preferred to no waste.
LayerGroups group_layers(std::span<const StateLayout> layers) {
  constexpr uint64_t kMaxGroups = 8;  // about
  const std::vector<Window> windows = windows_of(layers);
  uint64_t n_least = UINT64_MAX, n_all = 0;
  for (const Window& window : windows) {
    n_least = std::min(n_least, window.n_numbers);
    n_all += window.n_numbers;
  }
  const uint64_t n_each = std::max({uint64_t{1}, n_least, (n_all + kMaxGroups - 1) / kMaxGroups});
  LayerGroups groups;
  groups.places.resize(layers.size());
  for (const Window& window : windows) {
    const auto n_groups = static_cast<size_t>((window.n_numbers + n_each - 1) / n_each);
    const auto n_layers = std::max<size_t>(1, (window.layers.size() + n_groups - 1) / std::max<size_t>(1, n_groups));
    for (size_t i = 0; i < window.layers.size(); ++i) {
      if (i % n_layers == 0) groups.windows.push_back(window.window);
      const auto group = static_cast<uint32_t>(groups.windows.size() - 1), slot = static_cast<uint32_t>(i % n_layers);
      groups.places[window.layers[i]] = {group, slot};
      groups.n_slots = std::max(groups.n_slots, slot + 1);
    }
  }
  if (groups.windows.empty()) groups.windows.push_back(0);
  return groups;
}

Result<CachePlanes> CachePlanes::create(uint32_t n_blocks, LayerGroups groups, std::span<const size_t> layer_bytes) {
  CachePlanes planes;
  planes.n_blocks_ = n_blocks;
  planes.planes_.resize(groups.n_slots);
  for (size_t layer = 0; layer < layer_bytes.size(); ++layer) {
    if (layer_bytes[layer] == 0) continue;
    size_t& part_bytes = planes.planes_[groups.places[layer].slot].part_bytes;
    part_bytes = std::max(part_bytes, layer_bytes[layer]);
  }
  size_t end = 0;
  for (Plane& plane : planes.planes_) {
    plane.offset = end;
    planes.block_bytes_ += plane.part_bytes;
    size_t plane_bytes = 0;
    if (__builtin_mul_overflow(plane.part_bytes, size_t{n_blocks}, &plane_bytes) ||
        __builtin_add_overflow(end, plane_bytes, &end)) {
      return Error{ErrorCode::kResourceExhausted, "the KV cache would be larger than the address space", "ctx"};
    }
  }
  for (const LayerGroups::Place& place : groups.places) {
    planes.planes_of_layers_.push_back(groups.n_slots > 0 ? planes.planes_[place.slot] : Plane{});
  }
  planes.groups_ = std::move(groups);
  return planes;
}

}  // namespace realizar
