#include "backend/cpu/peaks.h"

#include <atomic>
#include <chrono>

#include "backend/cpu/kernel_choice.h"
#include "backend/cpu/pages.h"
#include "base/cpu_features.h"
#include "base/thread_team.h"

namespace realizar::cpu {
namespace {

// The best of several rounds, in work per second; a round is body(member) on every member.
template <class Body>
double best_rate(ThreadTeam& team, double work, Body body) {
  constexpr int kRounds = 5;
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    team.run(body);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    best = std::max(best, work / elapsed.count());
  }
  return best;
}

}  // namespace

Peaks measure_peaks(uint32_t n_threads) {
  ThreadTeam team(n_threads > 0 ? n_threads : n_usable_cores());
  const KernelTable& loop = *kernels_for(CpuIsa::kAuto);
  std::atomic<float> sink{0};  // keeps the loops' results alive
  Peaks peaks;
  constexpr size_t kBytes = size_t{512} << 20;  // far more than one core's share of any cache
  if (auto pages = Pages::allocate(kBytes); pages.ok()) {
    const size_t share = kBytes / team.size() / 4096 * 4096;
    const auto part = [&](uint32_t member) { return pages->as<uint8_t>() + member * share; };
    auto touch = [&](uint32_t member) {
      for (size_t i = 0; i < share; i += 4096) part(member)[i] = 1;
    };
    team.run(touch);
    const double work = static_cast<double>(share) * team.size();
    auto read = [&](uint32_t member) { sink.store(loop.peak_read(part(member), share)); };
    peaks.read_gb_per_s = best_rate(team, work, read) * 1e-9;
  }
  constexpr uint32_t kSteps = 500000;
  const auto rate = [&](float (*run)(uint32_t), double ops_a_step) {
    if (run == nullptr) return 0.0;
    return best_rate(team, ops_a_step * kSteps * team.size(), [&](uint32_t) { sink.store(run(kSteps)); }) * 1e-9;
  };
  const double fma_ops = 2.0 * 16 * loop.peak_chains;
  peaks.fma_gflop_per_s = rate(loop.peak_fma, fma_ops);
  peaks.bf16_gflop_per_s = rate(loop.peak_bf16, fma_ops * 2);
  peaks.int8_gop_per_s = rate(loop.peak_int8, fma_ops * 4);
  return peaks;
}

}  // namespace realizar::cpu
