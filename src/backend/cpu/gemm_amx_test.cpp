// The AMX product with emulated tile registers, so that its loops over tiles are tested on every processor; with AMX,
// every test of the CPU backend also runs on it.
#include <gtest/gtest.h>

#include <algorithm>
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

// Integers below 8, so that every sum is exact in any order.
class AmxGemm : public testing::TestWithParam<uint32_t> {
 protected:
  static constexpr uint32_t kCols = 608;

  AmxGemm() {
    tile_configure(kBf16TileRowBytes);
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
      const Bf16Tiles tiles{tiles_[0].data(), tiles_[1].data(), 0};
      gemm_bf16_amx(tiles, kCols, rows.data(), 0, n, acc.data(), true);
      gemm_bf16_amx(tiles, kCols, rows.data(), 0, n, acc.data(), false);
      for (uint32_t i = 0; i < n; ++i) {
        for (uint32_t o = 0; o < 32; ++o) ASSERT_EQ(acc[i * 32 + o], 2 * expected(chosen[i], o)) << i << ' ' << o;
      }
    }
  }
}

// The second halves of the rows are the rows 32 further on, those of the weights the same with their outputs swapped.
TEST_P(AmxGemm, LeavesOutTheProductOfTwoSecondHalves) {
  const uint32_t n = GetParam();
  std::vector<uint16_t> weights[2];
  for (size_t t = 0; t < 2; ++t) {
    weights[t] = tiles_[t];
    weights[t].insert(weights[t].end(), tiles_[1 - t].begin(), tiles_[1 - t].end());
  }
  std::vector<const void*> rows(n);
  for (uint32_t i = 0; i < n; ++i) rows[i] = rows_.data() + size_t{i} * kCols;
  const size_t row_low = size_t{32} * kCols * sizeof(uint16_t);
  for (const size_t low : {size_t{0}, size_t{16} * kCols * sizeof(uint16_t)}) {
    std::vector<float> acc(n * 32, 1000.0f);
    gemm_bf16_amx({weights[0].data(), weights[1].data(), low}, kCols, rows.data(), row_low, n, acc.data(), true);
    for (uint32_t i = 0; i < n; ++i) {
      for (uint32_t o = 0; o < 32; ++o) {
        const float own = expected(i, o) + expected(32 + i, o), of_low = low > 0 ? expected(i, (o + 16) % 32) : 0;
        ASSERT_EQ(acc[i * 32 + o], own + of_low) << i << ' ' << o;
      }
    }
  }
}

// 32 of 64 rows stored as tiles, kTileCols columns of all rows before the next columns.
TEST_P(AmxGemm, IsTheProductForRowsInTiles) {
  constexpr uint32_t kBlocks = 4, kChunks = (kCols + kTileCols - 1) / kTileCols;
  const uint32_t first_row = GetParam() / kTileRows * kTileRows;
  std::vector<uint8_t> tiles(kChunks * kBlocks * kRowBlockBytes);
  const auto at = [&](uint32_t row, uint32_t c) {
    return tiles.data() + (c / kTileCols * kBlocks + row / kTileRows) * kRowBlockBytes +
           c % kTileCols / kTileDepth * kRowTileBytes + (row % kTileRows * kTileDepth + c % kTileDepth) * 2;
  };
  for (uint32_t i = 0; i < 64; ++i) {
    for (uint32_t c = 0; c < kCols; ++c) std::memcpy(at(i, c), &rows_[i * kCols + c], 2);
  }
  std::vector<float> acc(32 * 32, 1000.0f);
  for (uint32_t c = 0; c < kCols; c += kTileCols) {
    const Bf16Tiles weights{tiles_[0].data() + size_t{16} * c, tiles_[1].data() + size_t{16} * c, 0};
    gemm_row_tiles_amx(weights, std::min(kTileCols, kCols - c), at(first_row, c), 0, acc.data(), c == 0);
  }
  for (uint32_t i = 0; i < 32; ++i) {
    for (uint32_t o = 0; o < 32; ++o) ASSERT_EQ(acc[i * 32 + o], expected(first_row + i, o)) << i << ' ' << o;
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, AmxGemm, testing::Values(1u, 2u, 3u, 15u, 16u, 17u, 31u, 32u));

TEST(AmxPeak, CountsItsWork) {
  EXPECT_EQ(peak_bf16_amx(640), 0.0f);
}

}  // namespace
}  // namespace realizar::cpu
