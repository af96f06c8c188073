#include "backend/cpu/kernel_choice.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string_view>
#include <vector>

#include "backend/cpu/levels.h"
#include "backend/cpu/matmul.h"
#include "base/check.h"
#include "base/cpu_features.h"

namespace realizar::cpu {
namespace {

// A product of two cached panels with 32 rows. All values are zero, which does not change the time.
class TrialProduct {
 public:
  static constexpr uint32_t kRows = 32, kCols = 1024;

  TrialProduct(const KernelTable& kernels, TypeId type)
      : values_(size_t{kRows} * kCols), sums_(size_t{kRows} * kPairRows), tile_(kTileBytes) {
    if (kernels.configure_tiles != nullptr) kernels.configure_tiles(kBf16TileRowBytes);
    matrix_ = {type, 1, kPairRows, kCols, panel_bytes(type, kCols), nullptr};
    panels_.resize(matrix_.bytes());
    matrix_.data = panels_.data();
    for (uint32_t row = 0; row < kRows; ++row) rows_[row] = row;
    is_ready_ = prepared_.reserve(kRows, kCols).ok();
    for (uint32_t row = 0; is_ready_ && row < kRows; ++row) {
      prepared_.prepare(kernels, matrix_, {0, kRows}, values_.data() + size_t{row} * kCols, row);
    }
  }

  // Multiplies the first n_decode rows as decode rows, or all as prompt rows if it is 0.
  void multiply(const KernelTable& kernels, uint32_t n_decode) {
    if (!is_ready_) return;
    const RowList list{rows_.data(), n_decode, n_decode > 0 ? n_decode : kRows};
    multiply_pairs(kernels, matrix_, 0, {0, 1}, {values_.data(), &prepared_, {0, kRows}}, list, sums_.data(),
                   {tile_.data(), nullptr});
  }

 private:
  std::vector<float> values_, sums_;
  std::vector<std::byte> tile_;
  std::vector<uint8_t> panels_;
  std::array<uint32_t, kRows> rows_{};
  PackedMatrix matrix_;
  PreparedRows prepared_;
  bool is_ready_ = false;
};

// The shortest of several rounds, in us: other load on the machine only makes rounds longer.
double shortest_us(const std::function<void()>& run) {
  double shortest = 0;
  for (int round = 0; round < 6; ++round) {
    const auto start = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
    shortest = round == 0 ? time.count() : std::min(shortest, time.count());
  }
  return shortest;
}

// Supported levels with the arithmetic of the highest one, which is first.
std::vector<const KernelTable*> levels_of_one_arithmetic() {
  const KernelTable* highest = kernels_for(CpuIsa::kAuto);
  std::vector<const KernelTable*> levels{highest};
  for (const CpuIsa isa : kCpuIsas) {
    const KernelTable* kernels = kernels_for(isa);
    const bool is_alike =
        kernels != nullptr && std::string_view(kernels->arithmetic) == std::string_view(highest->arithmetic);
    if (is_alike && kernels != highest) levels.push_back(kernels);
  }
  return levels;
}

}  // namespace

KernelTimes time_kernels(const KernelTable& kernels) {
  KernelTimes times{};
  size_t i = 0;
  for (const TypeId type : {TypeId::kQ4_K, TypeId::kF16}) {
    TrialProduct product(kernels, type);
    for (const uint32_t n_decode : {1u, 0u}) {
      const int n_products = n_decode > 0 ? 4 : 1;
      times[i++] = shortest_us([&] {
        for (int n = 0; n < n_products; ++n) product.multiply(kernels, n_decode);
      });
    }
  }
  return times;
}

KernelChoice choose_fastest(std::span<const KernelTable* const> candidates,
                            const std::function<KernelTimes(const KernelTable&)>& time) {
  REQUIRE(!candidates.empty());
  KernelChoice choice{candidates[0], {}};
  if (candidates.size() == 1) return choice;
  constexpr double kMuchFaster = 0.9, kAsFast = 1.02;
  KernelTimes best = time(*candidates[0]);
  for (const KernelTable* candidate : candidates.subspan(1)) {
    const KernelTimes times = time(*candidate);
    KernelTimes shares{};
    std::transform(times.begin(), times.end(), best.begin(), shares.begin(), std::divides<>());
    const auto [fastest, slowest] = std::minmax_element(shares.begin(), shares.end());
    if (*fastest > kMuchFaster || *slowest > kAsFast) continue;
    choice.kernels = candidate;
    best = times;
  }
  for (const KernelTable* candidate : candidates) {
    if (candidate == choice.kernels) continue;
    choice.reason += (choice.reason.empty() ? "measured against " : ", ") + std::string(candidate->name);
  }
  return choice;
}

const KernelChoice& choose_kernels() {
  static const KernelChoice choice = choose_fastest(levels_of_one_arithmetic(), time_kernels);
  return choice;
}

const KernelTable* kernels_for(CpuIsa isa) {
  const bool any = isa == CpuIsa::kAuto;
#if defined(__x86_64__)
  const CpuFeatures has = cpu_features();
  if (has.amx && (any || isa == CpuIsa::kAmx)) return &amx_kernels();
  if (has.avx512 && (any || isa == CpuIsa::kAvx512)) return &avx512_kernels();
  if (has.avx_vnni && (any || isa == CpuIsa::kAvxVnni)) return &avx_vnni_kernels();
  if (has.avx2 && (any || isa == CpuIsa::kAvx2)) return &avx2_kernels();
#elif defined(__aarch64__)
  if (cpu_features().i8mm && (any || isa == CpuIsa::kI8mm)) return &i8mm_kernels();
  if (cpu_features().dotprod && (any || isa == CpuIsa::kDotprod)) return &dotprod_kernels();
  if (any || isa == CpuIsa::kNeon) return &neon_kernels();
#endif
  return any || isa == CpuIsa::kPortable ? &portable_kernels() : nullptr;
}

std::vector<CpuIsa> usable_isas() {
  std::vector<CpuIsa> isas;
  std::ranges::copy_if(kCpuIsas, std::back_inserter(isas), [](CpuIsa isa) { return kernels_for(isa) != nullptr; });
  return isas;
}

const char* to_string(CpuIsa isa) {
  switch (isa) {
    case CpuIsa::kAuto:
      return "auto";
    case CpuIsa::kPortable:
      return "portable";
    case CpuIsa::kAvx2:
      return "avx2";
    case CpuIsa::kAvxVnni:
      return "avx-vnni";
    case CpuIsa::kAvx512:
      return "avx512";
    case CpuIsa::kAmx:
      return "amx";
    case CpuIsa::kNeon:
      return "neon";
    case CpuIsa::kDotprod:
      return "dotprod";
    case CpuIsa::kI8mm:
      return "i8mm";
  }
  return "auto";
}

}  // namespace realizar::cpu
