#include "backend/cuda/step/cut_lists.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"
#include "base/try.h"

namespace realizar::cuda {
namespace {

void write_list(const StepBatch& batch, uint32_t window, const DecodePasses& passes, std::span<RowCut> list) {
  std::ranges::fill(list, RowCut{kNoRow, 0});
  size_t at = 0;
  for (uint32_t row = 0; row < batch.n_decode_rows; ++row) {
    const uint32_t n_cuts = n_cuts_of<DecodeCuts>(static_cast<uint32_t>(batch.positions[row]), window);
    if (at % passes.n_places + n_cuts > passes.n_places) at = (at / passes.n_places + 1) * passes.n_places;
    REQUIRE(at + n_cuts <= list.size());
    for (uint32_t cut = 0; cut < n_cuts; ++cut) list[at++] = {row, cut};
  }
}

}  // namespace

void CutLists::release(Device& device) {
  if (device_places_ != nullptr) device.free(std::exchange(device_places_, nullptr));
  if (host_places_ != nullptr) device.free_pinned(std::exchange(host_places_, nullptr));
}

Status CutLists::reserve(Device& device, size_t n_lists, size_t n_places) {
  if (n_lists <= n_lists_ && n_places <= max_places_) return {};
  n_lists = std::max(n_lists, n_lists_);
  n_places = std::max(std::bit_ceil(n_places), max_places_);
  n_lists_ = max_places_ = 0;
  release(device);
  RZ_TRY(void* words, device.allocate(n_lists * n_places * sizeof(RowCut)));
  device_places_ = static_cast<RowCut*>(words);
  RZ_TRY(void* host, device.allocate_pinned(n_lists * n_places * sizeof(RowCut)));
  host_places_ = static_cast<RowCut*>(host);
  n_lists_ = n_lists;
  max_places_ = n_places;
  return {};
}

void CutLists::upload(Device& device, const StepBatch& batch, std::span<const uint32_t> windows,
                      const DecodePasses& passes, size_t n_places) {
  REQUIRE(windows.size() <= n_lists_ && n_places <= max_places_);
  for (size_t i = 0; i < windows.size(); ++i) {
    const std::span<RowCut> places(host_places_ + i * max_places_, n_places);
    write_list(batch, windows[i], passes, places);
    device.upload(device_places_ + i * max_places_, places.data(), places.size_bytes());
  }
}

}  // namespace realizar::cuda
