// The AMX product with emulated tile registers, so that its walk over tiles is checked on every processor; where there
// is AMX, every test of the CPU backend also runs on it.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "backend/cpu/kernels.h"

namespace realizar::cpu {
namespace {

// clang-format off
#include "backend/cpu/emulated_tiles.inl"
#include "backend/cpu/isa/gemm_amx.inl"
// clang-format on

uint16_t to_bf16(float value) {
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
}

// Whole numbers below 8, so that every sum is exact in any order.
class AmxGemm : public testing::TestWithParam<uint32_t> {
 protected:
  static constexpr uint32_t kCols = 608;

  AmxGemm() {
    tile_configure();
    for (auto* values : {&weights_, &inputs_}) {
      for (float& value : *values) value = static_cast<float>(static_cast<int>(engine_() % 15) - 7);
    }
    for (uint32_t o = 0; o < 32; ++o) {
      for (uint32_t c = 0; c < kCols; ++c) {
        tiles_[o / 16][c / 2 * 32 + o % 16 * 2 + c % 2] = to_bf16(weights_[o * kCols + c]);
      }
    }
    for (size_t i = 0; i < inputs_.size(); ++i) rows_[i] = to_bf16(inputs_[i]);
  }

  float expected(uint32_t row, uint32_t output) const {
    float sum = 0;
    for (uint32_t c = 0; c < kCols; ++c) sum += weights_[output * kCols + c] * inputs_[row * kCols + c];
    return sum;
  }

  std::mt19937 engine_{11};
  std::vector<float> weights_ = std::vector<float>(32 * kCols), inputs_ = std::vector<float>(64 * kCols);
  std::vector<uint16_t> tiles_[2] = {std::vector<uint16_t>(16 * kCols), std::vector<uint16_t>(16 * kCols)};
  std::vector<uint16_t> rows_ = std::vector<uint16_t>(64 * kCols);
};

TEST_P(AmxGemm, IsTheProductForNeighbouringAndForScatteredRows) {
  const uint32_t n = GetParam();
  for (const uint32_t step : {1u, 2u}) {
    for (const bool scattered : {false, true}) {
      std::vector<uint32_t> chosen(n);
      for (uint32_t i = 0; i < n; ++i) chosen[i] = scattered ? (i * 37 + 5) % 64 : i * step % 64;
      std::vector<const void*> rows(n);
      for (uint32_t i = 0; i < n; ++i) rows[i] = rows_.data() + size_t{chosen[i]} * kCols;
      std::vector<float> acc(n * 32, 1000.0f);
      gemm_bf16_amx(tiles_[0].data(), tiles_[1].data(), kCols, rows.data(), n, acc.data(), true);
      gemm_bf16_amx(tiles_[0].data(), tiles_[1].data(), kCols, rows.data(), n, acc.data(), false);
      for (uint32_t i = 0; i < n; ++i) {
        for (uint32_t o = 0; o < 32; ++o) ASSERT_EQ(acc[i * 32 + o], 2 * expected(chosen[i], o)) << i << ' ' << o;
      }
    }
  }
}

// Of rows that lie as tiles with other rows' tiles between theirs, the first 32 are multiplied.
TEST_P(AmxGemm, IsTheProductForRowsInTiles) {
  constexpr uint32_t kBlocks = 4;
  const uint32_t n_cols = GetParam() * kTileDepth % kCols;
  std::vector<uint8_t> tiles(kCols / kTileDepth * kBlocks * kRowTileBytes);
  for (uint32_t i = 0; i < 64; ++i) {
    for (uint32_t c = 0; c < kCols; ++c) {
      const size_t at = (c / kTileDepth * kBlocks + i / kTileRows) * kRowTileBytes;
      std::memcpy(tiles.data() + at + (i % kTileRows * kTileDepth + c % kTileDepth) * 2, &rows_[i * kCols + c], 2);
    }
  }
  const size_t stride = kBlocks * kRowTileBytes;
  std::vector<float> acc(32 * 32, 1000.0f);
  const uint8_t* second = tiles.data() + 2 * kRowTileBytes;
  gemm_row_tiles_amx(tiles_[0].data(), tiles_[1].data(), n_cols, second, stride, acc.data(), true);
  gemm_row_tiles_amx(tiles_[0].data() + size_t{16} * n_cols, tiles_[1].data() + size_t{16} * n_cols, kCols - n_cols,
                     second + n_cols / kTileDepth * stride, stride, acc.data(), false);
  for (uint32_t i = 0; i < 32; ++i) {
    for (uint32_t o = 0; o < 32; ++o) ASSERT_EQ(acc[i * 32 + o], expected(32 + i, o)) << i << ' ' << o;
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, AmxGemm, testing::Values(1u, 2u, 3u, 15u, 16u, 17u, 31u, 32u));

TEST(AmxPeak, CountsItsWork) {
  EXPECT_EQ(peak_bf16_amx(640), 0.0f);
}

}  // namespace
}  // namespace realizar::cpu
