// Attention of the CUDA backend over contexts of one part and of several, against the reference and against itself: a
// row's bits depend on nothing but the row. Device memory begins as NaN, so reading what no row sees shows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "backend/cuda/attention_shape.h"
#include "backend/reference/reference_backend.h"
#include "support/emulated_cuda.h"
#include "support/op_rig.h"
#include "support/thread_orders.h"

namespace realizar::test {
namespace {

struct Shape {
  uint32_t head_dim = 64, n_heads = 2, n_kv_heads = 1;
  uint32_t window = 0;
  float softcap = 0;
  KvType type = KvType::kF16;
  uint32_t block_tokens = 32;
};

// Rows of one sequence.
struct Rows {
  uint32_t seq, first_pos, n_rows;
};

// What a sequence holds at a position is a function of the two; its blocks lie anywhere.
class ContextRig {
 public:
  ContextRig(std::unique_ptr<Backend> backend, const Shape& shape, std::span<const uint32_t> contexts)
      : shape_(shape),
        rig_(std::move(backend), {.max_rows = kMaxRows,
                                  .max_logit_rows = 1,
                                  .max_seqs = static_cast<uint32_t>(contexts.size()),
                                  .max_context = *std::max_element(contexts.begin(), contexts.end())}),
        q_(rig_.input(random_inputs(kContents, shape.n_heads * shape.head_dim, 1))),
        k_(rig_.input(random_inputs(kContents, shape.n_kv_heads * shape.head_dim, 2))),
        v_(rig_.input(random_inputs(kContents, shape.n_kv_heads * shape.head_dim, 3))),
        out_(rig_.output(shape.n_heads * shape.head_dim)) {
    uint32_t n_blocks = 0;
    for (const uint32_t n : contexts) {
      std::vector<BlockId>& table = tables_.emplace_back();
      for (uint32_t pos = 0; pos < n; pos += shape.block_tokens) table.push_back(BlockId{n_blocks++});
      std::reverse(table.begin(), table.end());
    }
    const KvLayout layout{1, shape.n_kv_heads, shape.head_dim, shape.block_tokens, n_blocks, shape.type};
    if (!rig_.backend().create_kv_cache(layout).ok()) std::abort();
  }

  void store_history(uint32_t seq, uint32_t n_pos) {
    for (uint32_t begin = 0; begin < n_pos; begin += kMaxRows) {
      const Rows rows{seq, begin, std::min(kMaxRows, n_pos - begin)};
      rig_.step(batch_of({&rows, 1}, 0), {k_, v_}, [&](Backend& b) { store(b); });
    }
  }
  std::vector<float> attend(std::span<const Rows> rows, uint32_t n_decode) {
    rig_.step(batch_of(rows, n_decode), {q_, k_, v_}, [&](Backend& b) {
      store(b);
      b.attention({.out = out_,
                   .q = q_,
                   .layer = 0,
                   .n_heads = shape_.n_heads,
                   .n_kv_heads = shape_.n_kv_heads,
                   .head_dim = shape_.head_dim,
                   .scale = 2.0f / std::sqrt(static_cast<float>(shape_.head_dim)),
                   .softcap = shape_.softcap,
                   .window = shape_.window});
    });
    return rig_.read(out_);
  }

 private:
  static constexpr uint32_t kMaxRows = 256, kContents = 499;

  void store(Backend& b) const {
    b.rope_store({.q = k_,
                  .k = k_,
                  .v = v_,
                  .layer = 0,
                  .n_heads = 0,
                  .n_kv_heads = shape_.n_kv_heads,
                  .head_dim = shape_.head_dim});
  }
  TestBatch batch_of(std::span<const Rows> all, uint32_t n_decode) const {
    TestBatch batch;
    for (const Rows& rows : all) {
      const auto first_row = static_cast<uint32_t>(batch.tokens.size());
      batch.seqs.push_back({first_row, rows.n_rows, static_cast<Pos>(rows.first_pos), tables_[rows.seq]});
      for (uint32_t pos = rows.first_pos; pos < rows.first_pos + rows.n_rows; ++pos) {
        const uint32_t mixed = (4099 * rows.seq + pos + 1) * 0x9e3779b1u;
        batch.tokens.push_back(static_cast<TokenId>((mixed ^ (mixed >> 15)) % kContents));
        batch.positions.push_back(static_cast<Pos>(pos));
      }
    }
    batch.n_decode_rows = n_decode;
    return batch;
  }

  Shape shape_;
  OpRig rig_;
  ActId q_, k_, v_, out_;
  std::vector<std::vector<BlockId>> tables_;
};

// A step of one sequence for each Rows, over all that came before it.
std::vector<float> attended(std::unique_ptr<Backend> backend, const Shape& shape, const std::vector<Rows>& rows,
                            uint32_t n_decode) {
  std::vector<uint32_t> contexts;
  for (const Rows& r : rows) contexts.push_back(r.first_pos + r.n_rows);
  ContextRig rig(std::move(backend), shape, contexts);
  for (const Rows& r : rows) rig.store_history(r.seq, r.first_pos);
  return rig.attend(rows, n_decode);
}

// Queries, keys and values lie in [-1, 1], and a score is at most 2 / 3 sqrt(head_dim). It is off by less than a share
// of that, which moves the weights, and with them a mean of values, by no more: a few 2^-22 where both products have
// halves of F16 or F32 sums, 2^-18 where one has halves of bf16, 2^-17 where both have. Without the lower halves it
// would be 2^-11 or 2^-8.
double tolerance(const Shape& shape) {
  const double unit = shape.type == KvType::kBF16 ? 0x1p-17 : shape.type == KvType::kQ8_0 ? 0x1p-18 : 0x1p-20;
  return unit * (std::sqrt(shape.head_dim) / 2 + 1);
}

void expect_like_reference(const Shape& shape, const std::vector<Rows>& rows, uint32_t n_decode) {
  const auto expected = attended(make_reference_backend(), shape, rows, n_decode);
  const auto actual = attended(*make_emulated_cuda(1), shape, rows, n_decode);
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

std::vector<Rows> one_row_each(std::initializer_list<uint32_t> contexts) {
  std::vector<Rows> rows;
  for (const uint32_t n : contexts) rows.push_back({static_cast<uint32_t>(rows.size()), n - 1, 1});
  return rows;
}

TEST(CudaAttention, OfDecodeRowsAcrossCutsAgrees) {
  const auto rows = one_row_each({1, 31, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1500});
  expect_like_reference({}, rows, 12);
  // Some windows begin in the cut before the last, some in the one before that.
  expect_like_reference({.window = 300}, rows, 12);
}

TEST(CudaAttention, OfFarDecodeRowsAgrees) {
  expect_like_reference({.head_dim = 32, .n_heads = 1}, one_row_each({4097, 4610}), 2);
  expect_like_reference({.head_dim = 32, .n_heads = 1, .window = 300}, one_row_each({4200}), 1);
}

TEST(CudaAttention, OfDecodeRowsOfEveryTypeAndShapeAgrees) {
  const auto rows = one_row_each({40, 300});
  for (const KvType type : {KvType::kF32, KvType::kF16, KvType::kBF16, KvType::kQ8_0, KvType::kF8}) {
    expect_like_reference({.head_dim = 64, .n_heads = 6, .n_kv_heads = 2, .type = type}, rows, 2);
    expect_like_reference({.head_dim = 96, .n_heads = 8, .softcap = 3, .type = type, .block_tokens = 24}, rows, 2);
    expect_like_reference({.head_dim = 256, .n_heads = 16, .window = 270, .type = type}, rows, 2);
  }
  expect_like_reference({.head_dim = 50, .n_heads = 3, .n_kv_heads = 3, .block_tokens = 7}, rows, 2);
  expect_like_reference({.head_dim = 10, .n_heads = 5, .type = KvType::kBF16, .block_tokens = 1}, rows, 2);
}

// Prompts of one and of several tiles, at the beginning and later, beside decode rows.
TEST(CudaAttention, OfPromptRowsAgrees) {
  const std::vector<Rows> rows = {{0, 99, 1}, {1, 0, 70}, {2, 150, 9}, {3, 61, 3}};
  for (const KvType type : {KvType::kF32, KvType::kF16, KvType::kBF16, KvType::kQ8_0, KvType::kF8}) {
    expect_like_reference({.head_dim = 64, .type = type}, rows, 1);
    expect_like_reference({.head_dim = 96, .n_heads = 1, .window = 50, .type = type, .block_tokens = 24}, rows, 1);
    expect_like_reference({.head_dim = 256, .n_heads = 1, .softcap = 3, .type = type}, {{0, 0, 40}, {1, 30, 2}}, 0);
  }
}

TEST(CudaAttention, OfPromptRowsOfEveryShapeAgrees) {
  const std::vector<Rows> rows = {{0, 33, 67}, {1, 0, 1}};
  expect_like_reference({.head_dim = 32, .n_heads = 8, .n_kv_heads = 8, .window = 1}, rows, 0);
  expect_like_reference({.head_dim = 10, .n_heads = 16, .block_tokens = 7}, rows, 0);
  expect_like_reference({.head_dim = 50, .n_heads = 6, .n_kv_heads = 2, .type = KvType::kBF16}, rows, 0);
  expect_like_reference({.head_dim = 112, .n_heads = 3, .window = 40, .block_tokens = 1}, rows, 0);
  expect_like_reference({.head_dim = 160, .n_heads = 1, .softcap = 2}, rows, 0);
}

// Rows of a prompt whose context is cut: some see one part, some two, with a window or without.
TEST(CudaAttention, OfPromptRowsAcrossCutsAgrees) {
  const std::vector<Rows> rows = {{0, 2030, 40}, {1, 500, 2}};
  expect_like_reference({.n_heads = 1}, rows, 0);
  for (const uint32_t window : {1u, 16u, 100u}) expect_like_reference({.n_heads = 1, .window = window}, rows, 0);
}

std::vector<float> row_of(const std::vector<float>& rows, size_t n_rows, size_t row) {
  const auto n_cols = static_cast<ptrdiff_t>(rows.size() / n_rows);
  const auto begin = rows.begin() + static_cast<ptrdiff_t>(row) * n_cols;
  return {begin, begin + n_cols};
}

TEST(CudaAttention, OfADecodeRowHasTheSameBitsInAnyBatch) {
  for (const uint32_t window : {0u, 290u}) {
    const Shape shape{.n_heads = 3, .window = window};
    const std::vector<uint32_t> contexts = {301, 20, 700};
    ContextRig rig(*make_emulated_cuda(1), shape, contexts);
    rig.store_history(0, 300);
    rig.store_history(1, 19);
    rig.store_history(2, 690);
    const Rows near{0, 300, 1}, nearest{1, 19, 1}, far{2, 690, 10};
    const auto alone = rig.attend(std::vector{near}, 1);
    EXPECT_EQ(row_of(rig.attend(std::vector{nearest, near}, 2), 2, 1), alone);
    EXPECT_EQ(row_of(rig.attend(std::vector{far, near}, 11), 11, 10), alone);
    EXPECT_EQ(row_of(rig.attend(std::vector{near, far}, 1), 11, 0), alone);
    const auto speculated = rig.attend(std::vector{far}, 10);
    EXPECT_EQ(row_of(rig.attend(std::vector{Rows{2, 695, 1}}, 1), 1, 0), row_of(speculated, 10, 5));
  }
}

TEST(CudaAttention, OfPromptRowsHaveTheSameBitsInAnyChunks) {
  for (const Shape& shape : {Shape{.n_heads = 3}, Shape{.n_heads = 3, .window = 70, .type = KvType::kQ8_0},
                             Shape{.head_dim = 256, .type = KvType::kBF16}}) {
    constexpr uint32_t kRows = 90, kFirst = 20;
    const std::vector<uint32_t> contexts = {kFirst + kRows, 131, 20};
    ContextRig rig(*make_emulated_cuda(1), shape, contexts);
    rig.store_history(0, kFirst);
    rig.store_history(1, 130);
    const auto whole = rig.attend(std::vector{Rows{0, kFirst, kRows}}, 0);
    const size_t n_cols = whole.size() / kRows;
    std::vector<float> in_chunks;
    uint32_t pos = kFirst;
    for (const uint32_t n : {1u, 7u, 65u, 17u}) {
      // Beside a decode row and another prompt.
      const auto part = rig.attend(std::vector{Rows{1, 130, 1}, Rows{0, pos, n}, Rows{2, 0, n % 19}}, 1);
      in_chunks.insert(in_chunks.end(), part.begin() + n_cols, part.begin() + (1 + n) * n_cols);
      pos += n;
    }
    EXPECT_EQ(in_chunks, whole) << "head_dim " << shape.head_dim;
  }
}

TEST(CudaAttention, IsTheSameInEveryOrderOfThreads) {
  for (const KvType type : {KvType::kF32, KvType::kF16, KvType::kBF16, KvType::kQ8_0, KvType::kF8}) {
    const Shape shape{.n_heads = 3, .type = type};
    const std::vector<Rows> rows = {{0, 69, 1}, {1, 599, 1}, {2, 80, 3}};
    expect_same_in_all_orders([&] { return attended(*make_emulated_cuda(1), shape, rows, 2); });
  }
  const Shape wide{.head_dim = 256, .n_heads = 1};
  const std::vector<Rows> rows = {{0, 299, 1}, {1, 35, 2}};
  expect_same_in_all_orders([&] { return attended(*make_emulated_cuda(1), wide, rows, 1); });
}

}  // namespace
}  // namespace realizar::test
