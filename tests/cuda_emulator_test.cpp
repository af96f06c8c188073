// The emulator detects the faults that it claims to detect: faults planted in small kernels.
#include "support/cuda_emulator.h"

#include <gtest/gtest.h>

#include <vector>

namespace realizar::cuda {
namespace {

constexpr uint32_t kThreads = 64;

struct Numbers {
  float* values;  // [kThreads]
};

// Each thread reads its neighbour's value; `waits`: not before it is written.
template <bool waits>
void shift_kernel(Numbers a) {
  RZ_SHARED(float, shared, kThreads);
  const uint32_t t = thread_idx();
  shared[t] = static_cast<float>(t);
  if (waits) barrier();
  a.values[t] = shared[(t + 1) % kThreads];
}

std::vector<float> shifted(void (*kernel)(Numbers), emulator::ThreadOrder order) {
  std::vector<float> values(kThreads);
  emulator::set_thread_order(order);
  launch(kernel, {1, 1}, kThreads, Numbers{values.data()}, nullptr);
  emulator::set_thread_order(emulator::ThreadOrder::kRising);
  return values;
}

TEST(CudaEmulator, OrdersOfThreadsAgreeWhereABarrierStands) {
  const auto rising = shifted(shift_kernel<true>, emulator::ThreadOrder::kRising);
  EXPECT_EQ(rising[0], 1.0f);
  EXPECT_EQ(rising[kThreads - 1], 0.0f);
  EXPECT_EQ(rising, shifted(shift_kernel<true>, emulator::ThreadOrder::kFalling));
  EXPECT_EQ(rising, shifted(shift_kernel<true>, emulator::ThreadOrder::kShuffled));
}

TEST(CudaEmulator, AMissingBarrierShows) {
  const auto rising = shifted(shift_kernel<false>, emulator::ThreadOrder::kRising);
  const auto falling = shifted(shift_kernel<false>, emulator::ThreadOrder::kFalling);
  EXPECT_TRUE(std::isnan(rising[0]));
  EXPECT_EQ(falling[0], 1.0f);
}

void sum_kernel(Numbers a) {
  a.values[thread_idx()] = warp_sum(a.values[thread_idx()]);
}

TEST(CudaEmulator, SumsAreTheButterflysOfEachWarp) {
  std::vector<float> values(kThreads);
  for (uint32_t t = 0; t < kThreads; ++t) values[t] = t < 32 ? 1.0f + static_cast<float>(t) * 0x1p-20f : 2.0f;
  float lanes[32];
  std::copy_n(values.begin(), 32, lanes);
  for (uint32_t n = 16; n > 0; n /= 2) {
    for (uint32_t i = 0; i < n; ++i) lanes[i] += lanes[i + n];
  }
  launch(sum_kernel, {1, 1}, kThreads, Numbers{values.data()}, nullptr);
  EXPECT_EQ(values[0], lanes[0]);
  EXPECT_EQ(values[31], lanes[0]);
  EXPECT_EQ(values[32], 64.0f);
}

// Computes a 16 x 8 product of known bytes with the fragments that device_code.h describes.
void mma_kernel(Numbers a) {
  const uint32_t lane = thread_idx(), group = lane / 4, t = lane % 4;
  const auto word = [](uint32_t row, uint32_t first_col) {
    uint32_t bits = 0;
    for (uint32_t i = 0; i < 4; ++i) bits |= ((row * 7 + (first_col + i) * 3) % 251 & 255) << (8 * i);
    return bits;
  };
  const uint32_t rows[4] = {word(group, 4 * t), word(group + 8, 4 * t), word(group, 16 + 4 * t),
                            word(group + 8, 16 + 4 * t)};
  const uint32_t columns[2] = {word(group + 40, 4 * t), word(group + 40, 16 + 4 * t)};
  int32_t c[4];
  mma_int8_k32(c, rows, columns, 5);
  for (uint32_t i = 0; i < 4; ++i) {
    a.values[(group + 8 * (i / 2)) * 8 + 2 * t + i % 2] = static_cast<float>(c[i]);
  }
}

TEST(CudaEmulator, MatrixProductsAreThoseOfTheirFragments) {
  std::vector<float> product(16 * 8);
  launch(mma_kernel, {1, 1}, 32, Numbers{product.data()}, nullptr);
  const auto byte = [](uint32_t row, uint32_t col) { return static_cast<int8_t>((row * 7 + col * 3) % 251); };
  for (uint32_t r = 0; r < 16; ++r) {
    for (uint32_t c = 0; c < 8; ++c) {
      int32_t sum = 5;
      for (uint32_t k = 0; k < 32; ++k) sum += byte(r, k) * byte(c + 40, k);
      EXPECT_EQ(product[r * 8 + c], static_cast<float>(sum)) << r << ", " << c;
    }
  }
}

// A 16 x 8 product of small whole numbers as F16, with the fragments that device_code.h describes.
void mma_half_kernel(Numbers a) {
  const uint32_t lane = thread_idx(), group = lane / 4, t = lane % 4;
  const auto pair = [](uint32_t row, uint32_t k) {
    const auto half = [&](uint32_t i) {
      return uint32_t{float_to_half(static_cast<float>((row * 7 + (k + i) * 3) % 31))};
    };
    return half(0) | half(1) << 16;
  };
  const uint32_t rows[4] = {pair(group, 2 * t), pair(group + 8, 2 * t), pair(group, 2 * t + 8),
                            pair(group + 8, 2 * t + 8)};
  const uint32_t columns[2] = {pair(group + 40, 2 * t), pair(group + 40, 2 * t + 8)};
  float c[4] = {};
  mma_half_k16(c, rows, columns);
  for (uint32_t i = 0; i < 4; ++i) a.values[(group + 8 * (i / 2)) * 8 + 2 * t + i % 2] = c[i];
}

TEST(CudaEmulator, HalfProductsAreThoseOfTheirFragments) {
  std::vector<float> product(16 * 8);
  launch(mma_half_kernel, {1, 1}, 32, Numbers{product.data()}, nullptr);
  const auto number = [](uint32_t row, uint32_t k) { return static_cast<float>((row * 7 + k * 3) % 31); };
  for (uint32_t r = 0; r < 16; ++r) {
    for (uint32_t c = 0; c < 8; ++c) {
      float sum = 0;
      for (uint32_t k = 0; k < 16; ++k) sum += number(r, k) * number(c + 40, k);
      EXPECT_EQ(product[r * 8 + c], sum) << r << ", " << c;
    }
  }
}

// Each thread copies four numbers; `waits`: until they have arrived.
template <bool waits>
void copy_kernel(Numbers a) {
  RZ_SHARED(float, shared, 4 * kThreads);
  const uint32_t t = thread_idx();
  copy_async16(shared + 4 * t, a.values + 4 * t);
  commit_copies();
  if (waits) wait_for_copies<0>();
  barrier();
  a.values[4 * t] = shared[4 * t + 1];
}

TEST(CudaEmulator, CopiesLandNoEarlierThanTheWait) {
  alignas(16) float values[4 * kThreads];
  for (uint32_t i = 0; i < 4 * kThreads; ++i) values[i] = static_cast<float>(i);
  launch(copy_kernel<true>, {1, 1}, kThreads, Numbers{values}, nullptr);
  EXPECT_EQ(values[4], 5.0f);
  launch(copy_kernel<false>, {1, 1}, kThreads, Numbers{values}, nullptr);
  EXPECT_TRUE(std::isnan(values[4]));
}

void sum_quad_kernel(Numbers a) {
  a.values[thread_idx()] = quad_sum(a.values[thread_idx()]);
}

// The order that kernels for one row and for several share: neighbours first.
TEST(CudaEmulator, SumsOfFourLanesAddNeighboursFirst) {
  std::vector<float> values(kThreads, 0.0f);
  // Lanes two apart first would give 2.
  values[0] = 0x1p24f;
  values[1] = values[3] = 1.0f;
  values[2] = -0x1p24f;
  launch(sum_quad_kernel, {1, 1}, kThreads, Numbers{values.data()}, nullptr);
  for (uint32_t lane = 0; lane < 4; ++lane) EXPECT_EQ(values[lane], (0x1p24f + 1.0f) + (1.0f - 0x1p24f)) << lane;
  EXPECT_NE(values[0], (0x1p24f - 0x1p24f) + (1.0f + 1.0f));
  EXPECT_EQ(values[4], 0.0f);
}

TEST(CudaEmulatorDeathTest, AGridThatAGpuWouldRefuseEndsTheProgram) {
  std::vector<float> values(kThreads);
  const Numbers numbers{values.data()};
  EXPECT_DEATH(launch(sum_kernel, {1, kMaxGridY + 1}, kThreads, numbers, nullptr), "grid");
  EXPECT_DEATH(launch(sum_kernel, {0, 1}, kThreads, numbers, nullptr), "grid");
  EXPECT_DEATH(launch(sum_kernel, {1, 1}, kMaxBlockThreads + 32, numbers, nullptr), "n_threads");
}

TEST(CudaEmulatorDeathTest, ARecordedLaunchThatWouldLoadItsKernelEndsTheProgram) {
  std::vector<float> values(kThreads, 1.0f);
  emulator::Recording recording;
  EXPECT_DEATH(launch(sum_quad_kernel, {1, 1}, kThreads, Numbers{values.data()}, &recording), "is_loaded");
  launch(sum_quad_kernel, {1, 1}, kThreads, Numbers{values.data()}, load_only_stream());
  EXPECT_EQ(values[0], 1.0f);
  launch(sum_quad_kernel, {1, 1}, kThreads, Numbers{values.data()}, &recording);
  EXPECT_EQ(recording.size(), 1u);
}

void half_a_warp_kernel(Numbers a) {
  if (thread_idx() % 2 == 0) a.values[thread_idx()] = warp_sum(1.0f);
}

TEST(CudaEmulatorDeathTest, ThreadsThatWaitForOthersInVainEndTheProgram) {
  std::vector<float> values(kThreads);
  EXPECT_DEATH(launch(half_a_warp_kernel, {1, 1}, kThreads, Numbers{values.data()}, nullptr), "wait for others");
}

}  // namespace
}  // namespace realizar::cuda
