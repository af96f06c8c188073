// Latent attention's operations on every backend that has them, against the reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "backend/reference/reference_backend.h"
#include "quant/types.h"
#include "support/backends_under_test.h"
#include "support/op_rig.h"
#include "support/suite_params.h"

namespace realizar::test {
namespace {

class LatentTest : public testing::TestWithParam<BackendUnderTest> {
 protected:
  void SetUp() override { skip_where_absent(GetParam()); }
};

constexpr uint32_t kLatentRows = 5, kLatentDecodeRows = 2, kNope = 24;
constexpr uint32_t kLatentBlockTokens = 16, kLatentRoom = 640;

struct LatentShape {
  uint32_t n_heads, latent_dim, n_rot;
  KvType type;
  uint32_t n_prompt = 600;

  uint32_t key_dim() const { return latent_dim + n_rot; }
  uint32_t query_dim() const { return kNope + n_rot; }
};

struct LatentData {
  LatentShape shape;
  InputTable q, latents;
  std::vector<float> inv_freq, norm;

  explicit LatentData(const LatentShape& s)
      : shape(s),
        q(random_inputs(kLatentRoom, s.n_heads * s.query_dim(), 1)),
        latents(random_inputs(kLatentRoom, s.key_dim(), 2)),
        norm(random_values(s.latent_dim, 3)) {
    for (uint32_t i = 0; i < s.n_rot / 2; ++i) inv_freq.push_back(std::pow(0.3f, static_cast<float>(i)));
  }
};

// The rows of one sequence, positions from first_pos on, are stored and attend.
struct LatentRig {
  LatentRig(std::unique_ptr<Backend> backend, const LatentData& data)
      : shape(data.shape),
        rig(std::move(backend), {.max_rows = 64, .max_logit_rows = 1, .max_seqs = 1, .max_context = kLatentRoom}),
        q(rig.input(data.q)),
        latent(rig.input(data.latents)),
        wk(rig.matrix(random_matrix(TypeId::kF32, shape.n_heads, shape.latent_dim, kNope, 4))),
        query(rig.output(shape.n_heads * shape.key_dim())),
        attended(rig.output(shape.n_heads * shape.latent_dim)),
        inv_freq(rig.vector(data.inv_freq)),
        norm(rig.vector(data.norm)) {
    CacheLayout layout;
    layout.layers = {Paged{.n_kv_heads = 1, .k_dim = shape.key_dim(), .v_dim = 0}};
    layout.block_tokens = kLatentBlockTokens;
    layout.n_blocks = kLatentRoom / kLatentBlockTokens;
    layout.type = shape.type;
    EXPECT_TRUE(rig.backend().create_kv_cache(layout).ok());
    for (uint32_t i = 0; i < layout.n_blocks; ++i) blocks.push_back(BlockId{i * 7 % layout.n_blocks});
  }

  // Rows between those that attend.
  void store(uint32_t first_pos, uint32_t end_pos) {
    for (uint32_t pos = first_pos; pos < end_pos; pos += 64) step(pos, std::min(64u, end_pos - pos), false, false);
  }
  std::vector<float> attend(uint32_t first_pos, uint32_t n_rows, bool is_decode) {
    step(first_pos, n_rows, is_decode, true);
    return rig.read(attended);
  }

  void step(uint32_t first_pos, uint32_t n_rows, bool is_decode, bool attends) {
    std::vector<uint32_t> tokens(n_rows);
    for (uint32_t i = 0; i < n_rows; ++i) tokens[i] = first_pos + i;
    TestBatch batch = rows_of(tokens, is_decode ? n_rows : 0);
    for (uint32_t i = 0; i < n_rows; ++i) batch.positions[i] = static_cast<Pos>(first_pos + i);
    batch.seqs = {{0, n_rows, static_cast<Pos>(first_pos), blocks}};
    rig.step(batch, {q, latent}, [&](Program& p) {
      if (attends) {
        p.add(HeadLinearOp{.out = query,
                           .in = q,
                           .weight = wk,
                           .n_heads = shape.n_heads,
                           .in_width = shape.query_dim(),
                           .out_width = shape.key_dim()});
      }
      p.add(LatentStoreOp{.query = query,
                          .q = q,
                          .latent = latent,
                          .layer = 0,
                          .n_heads = shape.n_heads,
                          .query_dim = shape.query_dim(),
                          .latent_dim = shape.latent_dim,
                          .n_rot = shape.n_rot,
                          .inv_freq = inv_freq,
                          .rope_scale = 1.2f,
                          .norm = norm,
                          .norm_eps = 1e-5f,
                          .temperature = {0.3f, 4, 1}});
      if (!attends) return;
      p.add(AttentionOp{.out = attended,
                        .q = query,
                        .layer = 0,
                        .n_heads = shape.n_heads,
                        .n_kv_heads = 1,
                        .head_dim = shape.key_dim(),
                        .scale = 0.025f,  // the temperature doubles it at far positions
                        .latent_dim = shape.latent_dim});
    });
  }

  LatentShape shape;
  OpRig rig;
  ActId q, latent;
  WeightId wk;
  ActId query, attended;
  WeightId inv_freq, norm;
  std::vector<BlockId> blocks;
};

// A prompt's first and last rows, and decode rows whose context is divided: heads in groups of 8 or 16, and all
// together; the types of the cache; latents of the largest models.
TEST_P(LatentTest, AttendsToLatentsOfAPromptAndOfFarPositions) {
  for (const LatentShape& shape :
       {LatentShape{3, 40, 8, KvType::kF32}, LatentShape{3, 40, 8, KvType::kF16}, LatentShape{16, 40, 8, KvType::kF32},
        LatentShape{16, 40, 8, KvType::kF16}, LatentShape{5, 96, 32, KvType::kQ8_0, 120},
        LatentShape{5, 96, 32, KvType::kQ4_0, 120}, LatentShape{5, 96, 32, KvType::kF8, 120},
        LatentShape{5, 96, 32, KvType::kBF16, 120}, LatentShape{18, 512, 64, KvType::kF16, 40},
        LatentShape{18, 512, 64, KvType::kF32, 40}}) {
    const LatentData data(shape);
    LatentRig reference(make_reference_backend(), data), rig(*GetParam().make(2), data);
    const auto expect_same = [&](uint32_t pos, uint32_t n_rows, bool is_decode) {
      const auto expected = reference.attend(pos, n_rows, is_decode), actual = rig.attend(pos, n_rows, is_decode);
      // Values are a few units large; products of halves lose 3 * 2^-18 of scores, F16 the rounding of stored values.
      EXPECT_TRUE(
          within(actual, expected, std::vector<double>(expected.size(), 2e-3), shape.n_heads * shape.latent_dim))
          << pos << " of " << shape.latent_dim << " numbers, type " << static_cast<int>(shape.type);
    };
    constexpr uint32_t kChunk = 19;  // rows, which cross blocks of positions
    expect_same(0, kChunk, false);
    for (LatentRig* own : {&reference, &rig}) own->store(kChunk, shape.n_prompt - kChunk);
    expect_same(shape.n_prompt - kChunk, kChunk, false);
    for (uint32_t pos = shape.n_prompt; pos < shape.n_prompt + 3; ++pos) expect_same(pos, 1, true);
  }
}

TEST_P(LatentTest, EachHeadHasAProductOfItsOwn) {
  for (const TypeId type : {TypeId::kF32, TypeId::kF16, TypeId::kQ8_0, TypeId::kQ4_0}) {
    constexpr uint32_t kProducts = 3, kIn = 64, kOut = 37, kInWidth = 70, kOutWidth = 40;
    const TestMatrix weight = random_matrix(type, kProducts, kOut, kIn, 1);
    const InputTable inputs = random_inputs(kLatentRows, kProducts * kInWidth, 2),
                     before = random_inputs(kLatentRows, kProducts * kOutWidth, 3);
    const auto products = [&](std::unique_ptr<Backend> backend) {
      OpRig rig(std::move(backend), {.max_rows = kLatentRows, .max_logit_rows = 1});
      const HeadLinearOp op{.out = rig.input(before),
                            .in = rig.input(inputs),
                            .weight = rig.matrix(weight),
                            .n_heads = kProducts,
                            .in_width = kInWidth,
                            .out_width = kOutWidth};
      rig.step(rows_of(first_tokens(kLatentRows), kLatentDecodeRows), {op.out, op.in}, [&](Program& p) { p.add(op); });
      return rig.read(op.out);
    };
    const auto expected = products(make_reference_backend());
    std::vector<double> bounds;
    for (uint32_t r = 0; r < kLatentRows; ++r) {
      for (uint32_t h = 0; h < kProducts; ++h) {
        const float* x = inputs.row(r) + size_t{h} * kInWidth;
        for (uint32_t i = 0; i < kOutWidth; ++i) {
          const Arithmetic arithmetic = GetParam().parts_arithmetic(type, r < kLatentDecodeRows);
          bounds.push_back(i < kOut ? kSigmas * product_sigma(weight, h, i, x, arithmetic) + kDenormal : 0);
        }
      }
    }
    EXPECT_TRUE(within(products(*GetParam().make(2)), expected, bounds, kProducts * kOutWidth)) << traits(type).name;
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, LatentTest, testing::ValuesIn(backends_under_test()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace realizar::test
