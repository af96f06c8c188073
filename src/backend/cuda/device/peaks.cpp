#include "backend/cuda/device/peaks.h"

#include <algorithm>

#include "backend/cuda/kernels/kernels.h"
#include "base/try.h"

namespace realizar::cuda {
namespace {

// A GPU's caches hold up to 126 MB; on a full GPU a smaller copy is better than none.
constexpr size_t kMostCopyBytes = size_t{512} << 20, kLeastCopyBytes = size_t{16} << 20;
constexpr uint32_t kRounds = 20000;
constexpr int kRepetitions = 5;
constexpr double kFlopsEachBfloatTile = 2.0 * 16 * 8 * 16, kOpsEachInt8Tile = 2.0 * 16 * 8 * 32;

// The shortest of several runs, in ms; the first one only warms up.
template <class Run>
Result<double> shortest_ms(Device& device, const Run& run) {
  double least = 1e30;
  for (int i = 0; i <= kRepetitions; ++i) {
    device.mark_time(0);
    run();
    device.mark_time(1);
    RZ_CHECK_OK(device.wait());
    if (i > 0) least = std::min(least, device.ms_between(0, 1));
  }
  return least;
}

Result<double> multiply_rate(Device& device, bool is_int8, void* out, double ops_each_tile) {
  uint64_t n_tiles = 0;
  RZ_TRY(const double ms, shortest_ms(device, [&] {
           n_tiles = device.kernels().multiply({kRounds, is_int8, static_cast<float*>(out)}, device.stream());
         }));
  return static_cast<double>(n_tiles) * ops_each_tile / ms / 1e6;
}

}  // namespace

Result<CopyBuffers> allocate_copy_buffers(Device& device) {
  for (size_t n_bytes = kMostCopyBytes;; n_bytes /= 2) {
    const Result<void*> from = device.allocate(n_bytes);
    if (!from.ok() && n_bytes / 2 < kLeastCopyBytes) return from.error();
    if (!from.ok()) continue;
    const Result<void*> to = device.allocate(n_bytes);
    if (to.ok()) return CopyBuffers{*from, *to, n_bytes};
    device.free(*from);
    if (n_bytes / 2 < kLeastCopyBytes) return to.error();
  }
}

Result<DevicePeaks> measure_peaks(Device& device) {
  RZ_TRY(const CopyBuffers buffers, allocate_copy_buffers(device));
  const CopyArgs copy{static_cast<const uint32_t*>(buffers.from), static_cast<uint32_t*>(buffers.to),
                      buffers.n_bytes / sizeof(uint32_t) / 4};
  DevicePeaks peaks;
  RZ_TRY(const double copy_ms, shortest_ms(device, [&] { device.kernels().copy(copy, device.stream()); }));
  peaks.copy_gb_per_s = 2.0 * static_cast<double>(buffers.n_bytes) / copy_ms / 1e6;
  RZ_TRY(peaks.bf16_gflop_per_s, multiply_rate(device, false, buffers.to, kFlopsEachBfloatTile));
  RZ_TRY(peaks.int8_gop_per_s, multiply_rate(device, true, buffers.to, kOpsEachInt8Tile));
  return peaks;
}

}  // namespace realizar::cuda
