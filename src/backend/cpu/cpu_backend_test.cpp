// The CPU backend's bits do not depend on a step's other rows; kernels of every level agree with the decoded weights.
#include "backend/cpu/cpu_backend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "backend/cpu/kernel_choice.h"
#include "backend/cpu/levels.h"
#include "backend/cpu/matmul.h"
#include "backend/cpu/packed_matrix.h"
#include "backend/cpu/peaks.h"
#include "backend/ops.h"
#include "backend/program.h"
#include "quant/types.h"

namespace realizar::cpu {
namespace {

std::vector<float> random_floats(size_t n, uint32_t seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& value : values) value = normal(engine);
  return values;
}

std::vector<std::byte> encoded(const TypeTraits& type, const std::vector<float>& values) {
  std::vector<std::byte> bytes(row_bytes(type, values.size()));
  type.encode(values.data(), bytes.data(), values.size());
  return bytes;
}

struct Product {
  std::vector<float> values;
  size_t scratch_bytes;
};
// in . weight^T for rows of one phase, computed by a separate backend, and the work memory of its steps.
Product run_product(const TypeTraits& type, const std::vector<std::byte>& weight, uint32_t n_rows, uint32_t n_cols,
                    std::vector<TokenId> tokens, bool decode, uint32_t n_threads) {
  auto backend = std::move(*make_cpu_backend({.n_threads = n_threads}));
  EXPECT_TRUE(backend->configure({.max_rows = 64, .max_logit_rows = 1}).ok());
  const auto table = random_floats(size_t{64} * n_cols, 7);
  const auto as_bytes = std::as_bytes(std::span(table));
  const auto inputs = backend->load_matrix({"table", TypeId::kF32, 1, 64, n_cols, {as_bytes}, {}, false});
  const auto id = backend->load_matrix({"weight", type.id, 1, n_rows, n_cols, {weight}, {}, false});
  Program program;
  const ActId in = program.add_activation("in", n_cols), out = program.add_activation("out", n_rows);
  program.add(EmbedOp{.out = in, .table = *inputs});
  program.add(LinearOp{.out = out, .in = in, .weight = *id});
  const auto n = static_cast<uint32_t>(tokens.size());
  const std::vector<Pos> positions(n);
  const StepBatch batch{tokens, positions, {}, decode ? n : 0, {}};
  backend->run(*backend->compile(program), batch);
  EXPECT_TRUE(backend->wait().ok());
  const auto result = backend->read(out);
  return {{result.begin(), result.end()}, backend->info().scratch_bytes};
}
std::vector<float> product(const TypeTraits& type, const std::vector<std::byte>& weight, uint32_t n_rows,
                           uint32_t n_cols, std::vector<TokenId> tokens, bool decode, uint32_t n_threads) {
  return run_product(type, weight, n_rows, n_cols, std::move(tokens), decode, n_threads).values;
}

class CpuTypes : public testing::TestWithParam<TypeTraits> {};
class GroupTypes : public CpuTypes {};  // integer products

class PanelTypes : public CpuTypes {};   // read by kernels directly from panels
class StoredTypes : public CpuTypes {};  // the others

std::vector<TypeTraits> types_of(std::initializer_list<Layout> layouts) {
  std::vector<TypeTraits> types;
  for (const TypeTraits& type : all_types()) {
    if (std::ranges::find(layouts, type.layout) != layouts.end()) types.push_back(type);
  }
  return types;
}

TEST_P(CpuTypes, ARowsBitsDependNeitherOnTheBatchNorOnTheThreads) {
  const TypeTraits& type = GetParam();
  constexpr uint32_t kRows = 37, kCols = 768;
  const auto weight = encoded(type, random_floats(size_t{kRows} * kCols, 1));
  std::vector<TokenId> all;
  for (int i = 0; i < 64; ++i) all.push_back(TokenId{i});
  for (const bool decode : {true, false}) {
    const auto together = product(type, weight, kRows, kCols, all, decode, 1);
    for (const uint32_t n : {1u, 2u, 3u, 5u, 13u, 31u, 64u}) {
      const std::vector<TokenId> last(all.end() - n, all.end());
      const auto apart = product(type, weight, kRows, kCols, last, decode, n % 4 + 1);
      EXPECT_EQ(std::memcmp(apart.data(), together.data() + (64 - n) * kRows, apart.size() * sizeof(float)), 0)
          << type.name << (decode ? " decode " : " prefill ") << n;
    }
  }
}

#if defined(__x86_64__)
// Bf16 tiles are made by AVX-512, which more processors have than AMX, which uses them.
TEST_P(GroupTypes, Bf16TilesHoldTheRoundedValuesInPairs) {
  if (kernels_for(CpuIsa::kAvx512) == nullptr || !__builtin_cpu_supports("avx512bf16"))
    GTEST_SKIP() << "no AVX-512 BF16";
  const TypeTraits& type = GetParam();
  constexpr uint32_t kCols = 512;
  const auto weight = encoded(type, random_floats(size_t{kPanelRows} * kCols, 6));
  ThreadTeam team(1);
  Arena arena;
  const auto m = pack_matrix({"weight", type.id, 1, kPanelRows, kCols, {weight}, {}, false}, team, arena);
  ASSERT_TRUE(m.ok());
  std::vector<float> wide(size_t{kCols} * kPanelRows);
  kernels_of(amx_kernels(), type.id).unpack_f32(m->data, 0, kCols, wide.data());
  std::vector<uint16_t> tile(wide.size()), expected(wide.size());
  kernels_of(amx_kernels(), type.id).unpack_bf16(m->data, 0, kCols, tile.data());
  amx_kernels().to_bf16(wide.data(), static_cast<uint32_t>(wide.size()), expected.data(), kTileDepth);
  for (uint32_t c = 0; c < kCols; ++c) {
    for (uint32_t i = 0; i < kPanelRows; ++i) {
      const float value = wide[c * kPanelRows + i];
      const float rounded = std::bit_cast<float>(uint32_t{expected[c * kPanelRows + i]} << 16);
      ASSERT_NEAR(rounded, value, std::ldexp(std::fabs(value), -8)) << type.name;
      ASSERT_EQ(tile[(c / 2 * kPanelRows + i) * 2 + c % 2], expected[c * kPanelRows + i]) << type.name;
    }
  }
}

TEST(PlainTypes, Bf16TilesAreTheHalvesOfTheValues) {
  if (kernels_for(CpuIsa::kAvx512) == nullptr || !__builtin_cpu_supports("avx512bf16"))
    GTEST_SKIP() << "no AVX-512 BF16";
  constexpr uint32_t kCols = 224, kFrom = 64, kSize = (kCols - kFrom) * kPanelRows;
  for (const TypeId id : {TypeId::kF16, TypeId::kBF16, TypeId::kF8_E4M3}) {
    const TypeTraits& type = traits(id);
    const auto weight = encoded(type, random_floats(size_t{kPanelRows} * kCols, 6));
    ThreadTeam team(1);
    Arena arena;
    const auto m = pack_matrix({"weight", type.id, 1, kPanelRows, kCols, {weight}, {}, false}, team, arena);
    ASSERT_TRUE(m.ok());
    const TypeKernels& kernels = kernels_of(amx_kernels(), type.id);
    std::vector<float> wide(kSize);
    kernels.unpack_f32(m->data, kFrom, kCols - kFrom, wide.data());
    std::vector<uint16_t> expected(2 * kSize), halves(2 * kSize);
    amx_kernels().split_tile(wide.data(), kCols - kFrom, expected.data(), expected.data() + kSize);
    kernels.unpack_bf16(m->data, kFrom, kCols - kFrom, halves.data());
    EXPECT_EQ(halves, expected) << type.name;  // exact in bf16: the second halves are zeros
  }
}
#endif

// Rows one at a time, several in one pass, and rows from tiles give the same bytes.
void expect_same_products(const KernelTable& kernels, const PackedMatrix& m, const TypeTraits& type,
                          const std::vector<ActGroup>& groups, uint32_t n_rows) {
  const TypeKernels& of_type = kernels_of(kernels, type.id);
  std::vector<float> dots(n_rows * kPairRows), sums(n_rows * kPairRows);
  std::vector<const ActGroup*> rows;
  for (uint32_t r = 0; r < n_rows; ++r) rows.push_back(groups.data() + r * m.n_cols / 32);
  for (uint32_t p = 0; p < 2; ++p) {
    for (uint32_t r = 0; r < n_rows; ++r) {
      of_type.dot(m.panel(0, p), m.n_cols, &rows[r], 1, &dots[r * kPairRows + p * kPanelRows]);
    }
    if (n_rows > kernels.dot_rows) continue;
    std::vector<float> at_once(n_rows * kPanelRows);
    of_type.dot(m.panel(0, p), m.n_cols, rows.data(), n_rows, at_once.data());
    for (uint32_t r = 0; r < n_rows; ++r) {
      EXPECT_EQ(std::memcmp(&dots[r * kPairRows + p * kPanelRows], &at_once[r * kPanelRows], 64), 0)
          << kernels.name << ' ' << type.name << " row " << r << " of " << n_rows << " at once";
    }
  }
  std::vector<std::byte> tiles(kTileBytes);
  std::byte *tile0 = tiles.data(), *tile1 = tile0 + kTileBytes / 2;
  for (uint32_t c = 0; c < m.n_cols; c += kTileCols) {
    const uint32_t n = std::min(kTileCols, m.n_cols - c);
    of_type.unpack_codes(m.panel(0, 0), c, n, tile0);
    of_type.unpack_codes(m.panel(0, 1), c, n, tile1);
    for (uint32_t r = 0; r < n_rows; ++r) rows[r] = groups.data() + (r * m.n_cols + c) / 32;
    of_type.gemm_int8(tile0, tile1, n, rows.data(), n_rows, sums.data(), c == 0);
  }
  for (uint32_t r = 0; r < n_rows; ++r) {
    EXPECT_EQ(std::memcmp(&dots[r * kPairRows], &sums[r * kPairRows], 128), 0)
        << kernels.name << ' ' << type.name << " row " << r << " of " << n_rows << " from tiles";
  }
}

TEST_P(GroupTypes, TilesGiveTheVeryBytesOfDotsForAnyNumberOfRows) {
  const TypeTraits& type = GetParam();
  constexpr uint32_t kMaxRows = 31;
  const uint32_t n_cols = type.block_elems > 32 ? 768 : 608;  // the last tile is partial if the type allows it
  const auto weight = encoded(type, random_floats(size_t{kPairRows} * n_cols, 4));
  ThreadTeam team(1);
  Arena arena;
  const auto m = pack_matrix({"weight", type.id, 1, kPairRows, n_cols, {weight}, {}, false}, team, arena);
  ASSERT_TRUE(m.ok());
  const auto x = random_floats(size_t{kMaxRows} * n_cols, 5);
  for (const CpuIsa isa : kCpuIsas) {
    const KernelTable* kernels = kernels_for(isa);
    if (kernels == nullptr) continue;
    std::vector<ActGroup> groups(kMaxRows * n_cols / 32);
    kernels->quantize(x.data(), kMaxRows * n_cols, groups.data());
    for (const uint32_t n_rows : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 10u, 11u, 12u, kMaxRows}) {
      expect_same_products(*kernels, *m, type, groups, n_rows);
    }
  }
}

// Random rows of a type, packed and decoded.
struct PackedRows {
  PackedRows(const TypeTraits& type, uint32_t n_rows, uint32_t n_cols)
      : weight(encoded(type, random_floats(size_t{n_rows} * n_cols, 2))),
        decoded(size_t{n_rows} * n_cols),
        panels(pack_matrix({"weight", type.id, 1, n_rows, n_cols, {weight}, {}, false}, team, arena)) {
    type.decode(weight.data(), decoded.data(), decoded.size());
  }

  std::vector<std::byte> weight;
  std::vector<float> decoded;  // [n_rows, n_cols]
  ThreadTeam team{2};
  Arena arena;
  Result<PackedMatrix> panels;
};

TEST_P(PanelTypes, EveryLevelUnpacksTheDecodedValuesAndMultipliesThem) {
  const TypeTraits& type = GetParam();
  constexpr uint32_t kRows = 19, kCols = 512;
  const PackedRows packed(type, kRows, kCols);
  const auto& decoded = packed.decoded;
  const auto& m = packed.panels;
  ASSERT_TRUE(m.ok());
  const auto x = random_floats(kCols, 3);
  for (const CpuIsa isa : kCpuIsas) {
    const KernelTable* kernels = kernels_for(isa);
    if (kernels == nullptr) continue;
    std::vector<float> tile(size_t{kCols} * 16);
    std::vector<ActGroup> groups(kCols / 32);
    kernels->quantize(x.data(), kCols, groups.data());
    for (uint32_t r = 0; r < kRows; ++r) {
      const uint8_t* panel = m->panel(0, r / 16);
      const TypeKernels& of_type = kernels_of(*kernels, type.id);
      of_type.unpack_f32(panel, 0, kCols, tile.data());
      float y[kPanelRows];
      const ActGroup* group_row = groups.data();
      const float* row = x.data();
      if (m->has_groups()) {
        of_type.dot(panel, kCols, &group_row, 1, y);
      } else {
        of_type.dot_plain(panel, kCols, &row, 1, y);
      }
      double expected = 0, magnitude = 0;
      for (uint32_t c = 0; c < kCols; ++c) {
        const float w = decoded[size_t{r} * kCols + c];
        EXPECT_FLOAT_EQ(tile[size_t{c} * 16 + r % 16], w) << kernels->name << ' ' << type.name;
        const double a = m->is_plain() ? double{x[c]} : double{groups[c / 32].scale} * groups[c / 32].quants[c % 32];
        expected += w * a;
        magnitude += std::fabs(w * a);
      }
      EXPECT_NEAR(y[r % 16], expected, 2e-6 * magnitude) << kernels->name << ' ' << type.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, GroupTypes, testing::ValuesIn(types_of({Layout::kGroups})),
                         [](const auto& test) { return std::string(test.param.name); });
TEST_P(StoredTypes, RowsAreDecodedWhereverTheyBegin) {
  const TypeTraits& type = GetParam();
  constexpr uint32_t kRows = 19, kCols = 768;
  const PackedRows packed(type, kRows, kCols);
  const auto& decoded = packed.decoded;
  const auto& m = packed.panels;
  ASSERT_TRUE(m.ok());
  EXPECT_LE(m->bytes(), row_bytes(type, size_t{2 * kPanelRows} * kCols) + 2 * 64);
  std::vector<float> values(kCols);
  for (uint32_t r = 0; r < kRows; ++r) {
    for (const uint32_t col : {0u, 256u, 512u}) {
      decode_row(*m, m->panel(0, r / kPanelRows), r % kPanelRows, col, kCols - col, values.data());
      const float* expected = decoded.data() + size_t{r} * kCols + col;
      EXPECT_EQ(std::memcmp(values.data(), expected, (kCols - col) * sizeof(float)), 0) << type.name << " row " << r;
    }
  }
}

TEST_P(StoredTypes, ProductsOfDecodeAndPrefillRowsAreTheSame) {
  const TypeTraits& type = GetParam();
  constexpr uint32_t kRows = 37, kCols = 768;
  const auto weight = encoded(type, random_floats(size_t{kRows} * kCols, 1));
  const std::vector<TokenId> rows{TokenId{3}, TokenId{1}, TokenId{2}, TokenId{0}, TokenId{9}};
  const auto decoded = product(type, weight, kRows, kCols, rows, true, 2);
  const auto prefilled = product(type, weight, kRows, kCols, rows, false, 1);
  ASSERT_EQ(decoded.size(), prefilled.size());
  EXPECT_EQ(std::memcmp(decoded.data(), prefilled.data(), decoded.size() * sizeof(float)), 0);
}

TEST_P(StoredTypes, RowsAreMultipliedWhereTheyLie) {
  constexpr uint32_t kRows = 32, kCols = 768;
  const auto scratch_bytes = [](const TypeTraits& type) {
    const auto weight = encoded(type, random_floats(size_t{kRows} * kCols, 1));
    return run_product(type, weight, kRows, kCols, {TokenId{1}}, false, 1).scratch_bytes;
  };
  // The 64 rows of a step are stored in no other form.
  EXPECT_LE(scratch_bytes(GetParam()) + 64 * kCols * sizeof(float), scratch_bytes(traits(TypeId::kF32)));
}

INSTANTIATE_TEST_SUITE_P(Types, PanelTypes, testing::ValuesIn(types_of({Layout::kPlain, Layout::kGroups})),
                         [](const auto& test) { return std::string(test.param.name); });
INSTANTIATE_TEST_SUITE_P(Types, StoredTypes, testing::ValuesIn(types_of({Layout::kStored})),
                         [](const auto& test) { return std::string(test.param.name); });
INSTANTIATE_TEST_SUITE_P(Types, CpuTypes, testing::ValuesIn(all_types().begin(), all_types().end()),
                         [](const auto& test) { return std::string(test.param.name); });

// A level is assembled from parts, none of which may be missing.
TEST(CpuLevels, HaveEveryKernelThatTheirTypesNeed) {
  for (const CpuIsa isa : kCpuIsas) {
    const KernelTable* table = kernels_for(isa);
    if (table == nullptr) continue;
    SCOPED_TRACE(table->name);
    EXPECT_TRUE(table->gemm_f32 && table->gemm_f32_chain && table->quantize && table->softmax_piece && table->map);
    EXPECT_TRUE(table->dot_f32 && table->sum && table->axpy && table->scale && table->mul_add);
    EXPECT_TRUE(table->delta_row && table->wkv_row && table->scan_rows);
    EXPECT_TRUE(table->peak_read && table->peak_fma && table->peak_int8);
    EXPECT_EQ(std::ranges::count(table->load_values, nullptr) + std::ranges::count(table->add_values, nullptr), 0);
    for (const TypeTraits& type : all_types()) {
      SCOPED_TRACE(type.name);
      const TypeKernels& kernels = kernels_of(*table, type.id);
      EXPECT_EQ(kernels.unpack_f32 != nullptr, type.layout != Layout::kStored);
      EXPECT_EQ(kernels.dot_plain != nullptr && kernels.score != nullptr, type.layout == Layout::kPlain);
      EXPECT_EQ(kernels.dot && kernels.unpack_codes && kernels.gemm_int8, type.layout == Layout::kGroups);
      if (table->has_bf16() && type.layout != Layout::kStored && type.id != TypeId::kF32) {
        EXPECT_NE(kernels.unpack_bf16, nullptr);
      }
    }
  }
}

TEST(CpuMaps, StayWithinTheirStatedErrors) {
  for (const CpuIsa isa : kCpuIsas) {
    const KernelTable* kernels = kernels_for(isa);
    if (kernels == nullptr) continue;
    for (float x = -80; x < 80; x += 0.0371f) {
      float e = x, t = x, g = x, sigmoid = x, softplus = x;
      kernels->map(MapKind::kExp, &e, 1);
      kernels->map(MapKind::kTanh, &t, 1);
      kernels->map(MapKind::kGeluErf, &g, 1);
      EXPECT_NEAR(e, std::exp(double{x}), 5e-7 * std::exp(double{x})) << kernels->name << ' ' << x;
      EXPECT_NEAR(t, std::tanh(double{x}), 5e-7);
      kernels->map(MapKind::kSigmoid, &sigmoid, 1);
      kernels->map(MapKind::kSoftplus, &softplus, 1);
      const double u = std::exp(-std::fabs(double{x}));
      EXPECT_NEAR(sigmoid, 1 / (1 + std::exp(-double{x})), 1e-6 / (1 + std::exp(-double{x})));
      EXPECT_NEAR(softplus, std::max(0.0, double{x}) + std::log1p(u), 1e-6 * (std::max(0.0, double{x}) + u));
      EXPECT_NEAR(g, 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))), 1e-6 * (1 + std::fabs(x)));
    }
  }
}

TEST(CpuPanels, RefuseAMatrixWhosePiecesDoNotHoldIt) {
  ThreadTeam team(1);
  Arena arena;
  const std::vector<std::byte> bytes(100);
  const auto m = pack_matrix({"w", TypeId::kF32, 1, 4, 8, {bytes}, {}, false}, team, arena);
  ASSERT_FALSE(m.ok());
  EXPECT_EQ(m.error().code, ErrorCode::kInvalidArgument);
}

// A level with only a name, and the times of its products.
struct FakeLevel {
  FakeLevel(const char* name, KernelTimes level_times) : times(level_times) { kernels.name = name; }

  KernelTable kernels{};
  KernelTimes times;
};

const char* chosen_of(const std::vector<FakeLevel>& levels) {
  std::vector<const KernelTable*> candidates;
  for (const FakeLevel& level : levels) candidates.push_back(&level.kernels);
  const auto time = [&](const KernelTable& kernels) {
    return std::find_if(levels.begin(), levels.end(), [&](const auto& l) { return &l.kernels == &kernels; })->times;
  };
  return choose_fastest(candidates, time).kernels->name;
}

TEST(CpuKernelChoice, TakesALowerLevelOnlyWhereItIsFasterBeyondDoubt) {
  const FakeLevel high("high", {10, 10, 10, 10});
  EXPECT_STREQ(chosen_of({high}), "high");
  EXPECT_STREQ(chosen_of({high, {"low", {9.5, 9.5, 9.5, 9.5}}}), "high") << "it may be noise";
  EXPECT_STREQ(chosen_of({high, {"low", {5, 11, 5, 5}}}), "high") << "it is slower in something";
  EXPECT_STREQ(chosen_of({high, {"low", {8, 10, 10, 10}}}), "low");
  EXPECT_STREQ(chosen_of({high, {"low", {8, 8, 8, 8}}, {"lowest", {5, 5, 5, 5}}}), "lowest");
  EXPECT_STREQ(chosen_of({high, {"low", {5, 5, 5, 5}}, {"lowest", {8, 8, 8, 8}}}), "low");
}

TEST(CpuKernelChoice, KeepsTheArithmeticOfTheHighestLevelAndSaysWhatItMeasured) {
  const KernelChoice& choice = choose_kernels();
  ASSERT_NE(choice.kernels, nullptr);
  EXPECT_STREQ(choice.kernels->arithmetic, kernels_for(CpuIsa::kAuto)->arithmetic);
  EXPECT_EQ(&choice, &choose_kernels()) << "measured once";
  const auto backend = std::move(*make_cpu_backend({.n_threads = 1}));
  EXPECT_NE(backend->info().description.find(choice.reason), std::string::npos) << backend->info().description;
  for (const double us : time_kernels(*choice.kernels)) EXPECT_GT(us, 0);
}

TEST(CpuPeaks, AreMeasured) {
  const Peaks peaks = measure_peaks(1);
  EXPECT_GT(peaks.read_gb_per_s, 0.1);
  EXPECT_GT(peaks.fma_gflop_per_s, 0.1);
  RecordProperty("read_gb_per_s", std::to_string(peaks.read_gb_per_s));
}

}  // namespace
}  // namespace realizar::cpu
