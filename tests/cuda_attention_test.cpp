// Attention of the CUDA backend over contexts of one part and of several, against the reference and against itself: a
// row's bits depend on nothing but the row. Device memory is initialized with NaN, so that reads of uninitialized
// values show.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "backend/kv_types.h"
#include "backend/reference/reference_backend.h"
#include "support/context_rig.h"
#include "support/cuda_test.h"
#include "support/thread_orders.h"

namespace realizar::test {
namespace {

// Queries, keys and values are in [-1, 1], and a score is at most 2 / 3 sqrt(head_dim). Its error is less than a share
// of that, which changes the weights, and with them a mean of values, by no more: a few 2^-22 if both products use
// halves of F16 or F32 sums, 2^-18 if one uses halves of bf16, 2^-17 if both do. Without the lower halves it would be
// 2^-11 or 2^-8.
double tolerance(const ContextShape& shape) {
  const bool has_scales = shape.type == KvType::kQ8_0 || shape.type == KvType::kQ4_0;
  const double unit = shape.type == KvType::kBF16 ? 0x1p-17 : has_scales ? 0x1p-18 : 0x1p-20;
  return unit * (std::sqrt(shape.head_dim) / 1.75 + 1);
}

class CudaAttention : public CudaTest {
 protected:
  void expect_like_reference(const ContextShape& shape, const std::vector<SeqRows>& rows, uint32_t n_decode) const {
    const auto expected = attended(make_reference_backend(), shape, rows, n_decode);
    const auto actual = attended(backend(), shape, rows, n_decode);
    ASSERT_EQ(expected.size(), actual.size());
    double worst = 0;
    size_t n_wrong = 0;
    for (size_t i = 0; i < actual.size(); ++i) {
      const double error = std::fabs(double{actual[i]} - expected[i]);
      worst = std::fmax(worst, error);
      if (!(error <= tolerance(shape))) ++n_wrong;
    }
    EXPECT_EQ(n_wrong, 0) << "worst " << worst << ", head_dim " << shape.head_dim << ", " << shape.n_heads << '/'
                          << shape.n_kv_heads << " heads, window " << shape.window;
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, CudaAttention, testing::ValuesIn(cudas_under_test()), name_of);

std::vector<SeqRows> one_row_each(std::initializer_list<uint32_t> contexts) {
  std::vector<SeqRows> rows;
  for (const uint32_t n : contexts) rows.push_back({static_cast<uint32_t>(rows.size()), n - 1, 1});
  return rows;
}

TEST_P(CudaAttention, OfDecodeRowsAcrossCutsAgrees) {
  const auto rows = one_row_each({1, 31, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1500});
  expect_like_reference({}, rows, 12);
  // Some windows begin in the cut before the last, some in the previous one.
  expect_like_reference({.window = 300}, rows, 12);
  expect_like_reference({.window = 300, .is_chunked = true}, rows, 12);
}

TEST_P(CudaAttention, OfFarDecodeRowsAgrees) {
  expect_like_reference({.head_dim = 32, .n_heads = 1}, one_row_each({4097, 4610}), 2);
  expect_like_reference({.head_dim = 32, .n_heads = 1, .window = 300}, one_row_each({4200}), 1);
}

TEST_P(CudaAttention, OfDecodeRowsOfEveryTypeAndShapeAgrees) {
  const auto rows = one_row_each({40, 300});
  for (const KvType type : kKvTypes) {
    expect_like_reference({.head_dim = 64, .n_heads = 6, .n_kv_heads = 2, .type = type}, rows, 2);
    expect_like_reference({.head_dim = 96, .n_heads = 8, .softcap = 3, .type = type, .block_tokens = 24}, rows, 2);
    expect_like_reference({.head_dim = 256, .n_heads = 16, .window = 270, .type = type}, rows, 2);
  }
  expect_like_reference({.head_dim = 50, .n_heads = 3, .n_kv_heads = 3, .block_tokens = 7}, rows, 2);
  expect_like_reference({.head_dim = 10, .n_heads = 5, .type = KvType::kBF16, .block_tokens = 1}, rows, 2);
}

// Prompts of one and of several tiles, at the beginning and later, together with decode rows.
TEST_P(CudaAttention, OfPromptRowsAgrees) {
  const std::vector<SeqRows> rows = {{0, 99, 1}, {1, 0, 70}, {2, 150, 9}, {3, 61, 3}};
  for (const KvType type : kKvTypes) {
    expect_like_reference({.head_dim = 64, .type = type}, rows, 1);
    expect_like_reference({.head_dim = 96, .n_heads = 1, .window = 50, .type = type, .block_tokens = 24}, rows, 1);
    expect_like_reference({.head_dim = 256, .n_heads = 1, .softcap = 3, .type = type}, {{0, 0, 40}, {1, 30, 2}}, 0);
  }
}

TEST_P(CudaAttention, OfPromptRowsOfEveryShapeAgrees) {
  const std::vector<SeqRows> rows = {{0, 33, 67}, {1, 0, 1}};
  expect_like_reference({.head_dim = 32, .n_heads = 8, .n_kv_heads = 8, .window = 1}, rows, 0);
  expect_like_reference({.head_dim = 10, .n_heads = 16, .block_tokens = 7}, rows, 0);
  expect_like_reference({.head_dim = 50, .n_heads = 6, .n_kv_heads = 2, .type = KvType::kBF16}, rows, 0);
  expect_like_reference({.head_dim = 112, .n_heads = 3, .window = 40, .block_tokens = 1}, rows, 0);
  expect_like_reference({.head_dim = 160, .n_heads = 1, .softcap = 2}, rows, 0);
}

// Rows of a prompt whose context is cut: some see one part, some two, with and without a window.
TEST_P(CudaAttention, OfPromptRowsAcrossCutsAgrees) {
  const std::vector<SeqRows> rows = {{0, 2030, 40}, {1, 500, 2}};
  expect_like_reference({.n_heads = 1}, rows, 0);
  for (const uint32_t window : {1u, 16u, 100u}) expect_like_reference({.n_heads = 1, .window = window}, rows, 0);
  expect_like_reference({.n_heads = 1, .window = 100, .is_chunked = true}, rows, 0);
}

// Bidirectional attention, in one cut and in two, and in a text of several tiles.
TEST_P(CudaAttention, OfRowsThatSeeThoseAfterThemAgrees) {
  const std::vector<SeqRows> rows = {{0, 2000, 80}, {1, 0, 1}, {2, 0, 130}};
  for (const uint32_t window : {0u, 1u, 20u, 100u}) {
    expect_like_reference({.n_heads = 1, .window = window, .is_bidirectional = true}, rows, 0);
  }
  expect_like_reference({.n_heads = 1, .window = 20, .type = KvType::kF32, .is_bidirectional = true}, rows, 0);
}

ContextShape latents(uint32_t n_heads, uint32_t latent_dim, KvType type = KvType::kF16, uint32_t window = 0) {
  return {.head_dim = latent_dim + 32, .n_heads = n_heads, .window = window, .type = type, .latent_dim = latent_dim};
}

// For more heads than a block has, and for fewer; at the sizes of the largest models and at small ones.
TEST_P(CudaAttention, ToLatentsAgrees) {
  const std::vector<SeqRows> rows = {{0, 299, 1}, {1, 3, 1}, {2, 0, 20}, {3, 150, 9}, {4, 61, 3}};
  for (const KvType type : kKvTypes) {
    expect_like_reference(latents(3, 64, type), rows, 2);
    expect_like_reference(latents(1, 512, type), {{0, 40, 1}, {1, 30, 2}}, 1);
  }
  expect_like_reference(latents(20, 96, KvType::kF16, 50), rows, 2);
  expect_like_reference({.head_dim = 576, .n_heads = 18, .latent_dim = 512}, {{0, 40, 1}, {1, 0, 3}}, 1);
  expect_like_reference(
      {.head_dim = 50, .n_heads = 3, .softcap = 3, .type = KvType::kBF16, .block_tokens = 7, .latent_dim = 42}, rows,
      2);
}

TEST_P(CudaAttention, ToLatentsAcrossCutsAgrees) {
  for (const uint32_t window : {0u, 300u}) {
    expect_like_reference(latents(2, 32, KvType::kF16, window), one_row_each({256, 257, 1500, 4200}), 4);
    expect_like_reference(latents(2, 32, KvType::kF16, window), {{0, 2030, 30}, {1, 500, 2}}, 0);
  }
}

std::vector<float> row_of(const std::vector<float>& rows, size_t n_rows, size_t row) {
  const auto n_cols = static_cast<ptrdiff_t>(rows.size() / n_rows);
  const auto begin = rows.begin() + static_cast<ptrdiff_t>(row) * n_cols;
  return {begin, begin + n_cols};
}

TEST_P(CudaAttention, OfADecodeRowHasTheSameBitsInAnyBatch) {
  for (const ContextShape& shape :
       {ContextShape{.n_heads = 3}, ContextShape{.n_heads = 3, .window = 290}, latents(2, 32)}) {
    const std::vector<uint32_t> contexts = {301, 20, 700};
    ContextRig rig(backend(), shape, contexts);
    rig.store_history(0, 300);
    rig.store_history(1, 19);
    rig.store_history(2, 690);
    const SeqRows near{0, 300, 1}, nearest{1, 19, 1}, far{2, 690, 10};
    const auto alone = rig.attend(std::vector{near}, 1);
    EXPECT_EQ(row_of(rig.attend(std::vector{nearest, near}, 2), 2, 1), alone);
    EXPECT_EQ(row_of(rig.attend(std::vector{far, near}, 11), 11, 10), alone);
    EXPECT_EQ(row_of(rig.attend(std::vector{near, far}, 1), 11, 0), alone);
    const auto speculated = rig.attend(std::vector{far}, 10);
    EXPECT_EQ(row_of(rig.attend(std::vector{SeqRows{2, 695, 1}}, 1), 1, 0), row_of(speculated, 10, 5));
  }
}

TEST_P(CudaAttention, OfPromptRowsHaveTheSameBitsInAnyChunks) {
  for (const ContextShape& shape :
       {ContextShape{.n_heads = 3}, ContextShape{.n_heads = 3, .window = 70, .type = KvType::kQ8_0},
        ContextShape{.head_dim = 256, .type = KvType::kBF16}, latents(2, 32)}) {
    constexpr uint32_t kRows = 90, kFirst = 20;
    const std::vector<uint32_t> contexts = {kFirst + kRows, 131, 20};
    ContextRig rig(backend(), shape, contexts);
    rig.store_history(0, kFirst);
    rig.store_history(1, 130);
    const auto whole = rig.attend(std::vector{SeqRows{0, kFirst, kRows}}, 0);
    const size_t n_cols = whole.size() / kRows;
    std::vector<float> in_chunks;
    uint32_t pos = kFirst;
    for (const uint32_t n : {1u, 7u, 65u, 17u}) {
      // The batch also has a decode row and another prompt.
      const auto part = rig.attend(std::vector{SeqRows{1, 130, 1}, SeqRows{0, pos, n}, SeqRows{2, 0, n % 19}}, 1);
      in_chunks.insert(in_chunks.end(), part.begin() + n_cols, part.begin() + (1 + n) * n_cols);
      pos += n;
    }
    EXPECT_EQ(in_chunks, whole) << "head_dim " << shape.head_dim;
  }
}

TEST(CudaAttentionInOrder, IsTheSameInEveryOrderOfThreads) {
  for (const KvType type : kKvTypes) {
    const ContextShape shape{.n_heads = 3, .type = type};
    const std::vector<SeqRows> rows = {{0, 69, 1}, {1, 599, 1}, {2, 80, 3}};
    expect_same_in_all_orders([&] { return attended(*make_emulated_cuda(1), shape, rows, 2); });
  }
  const std::vector<SeqRows> rows = {{0, 299, 1}, {1, 35, 2}};
  for (const ContextShape& wide : {ContextShape{.head_dim = 256, .n_heads = 1}, latents(2, 128)}) {
    expect_same_in_all_orders([&] { return attended(*make_emulated_cuda(1), wide, rows, 1); });
  }
}

}  // namespace
}  // namespace realizar::test
