// Adapters' additions to products, against the reference: ranks and widths around every boundary, rows of several
// adapters and of none in one step; and each row's result, whatever other rows there are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backend/reference/reference_backend.h"
#include "support/backends_under_test.h"
#include "support/op_rig.h"
#include "support/suite_params.h"

namespace realizar::test {
namespace {

constexpr uint32_t kRowContents = 11, kAdapterSlots = 3, kRankRoom = 20;
constexpr BackendLimits kAdapterLimits{.max_rows = 48, .max_logit_rows = 48, .max_seqs = 8};

struct AdapterCase {
  uint32_t n_in, n_out;
  uint32_t ranks[kAdapterSlots];
  Activation activation = Activation::kNone;
  float scale = 1.0f, softcap = 0.0f;
};

constexpr AdapterCase kAdapterCases[] = {
    {1, 1, {1, 2, 3}},
    {33, 17, {16, 17, 20}},
    {1024, 130, {4, 0, 15}},
    {1025, 64, {20, 1, 16}},
    {2300, 270, {16, 8, 20}},
    {96, 40, {5, 16, 0}, Activation::kSilu},
    {96, 40, {5, 16, 0}, Activation::kGelu, 0.5f},
    {96, 40, {5, 16, 0}, Activation::kNone, 1.0f, 3.0f},
};

// Rows of some sequences, each with an adapter or none.
struct SeqRowsWith {
  TestBatch batch;
  std::vector<BatchAdapter> of_row;
};

SeqRowsWith rows_with(const std::vector<std::pair<uint32_t, BatchAdapter>>& seqs, uint32_t n_decode) {
  SeqRowsWith rows;
  std::vector<uint32_t> tokens;
  for (const auto& [n_rows, adapter] : seqs) {
    rows.batch.seqs.push_back({static_cast<uint32_t>(tokens.size()), n_rows, Pos{0}, {}, {}, {}, adapter});
    for (uint32_t i = 0; i < n_rows; ++i) {
      tokens.push_back(static_cast<uint32_t>(tokens.size() * 7 + 5) % kRowContents);
      rows.of_row.push_back(adapter);
    }
  }
  TestBatch plain = rows_of(tokens, n_decode);
  plain.seqs = rows.batch.seqs;
  rows.batch = plain;
  return rows;
}

// The stacks of a case and the results of two operations.
class AdapterRig {
 public:
  AdapterRig(std::unique_ptr<Backend> backend, const AdapterCase& c)
      : case_(c), rig_(std::move(backend), kAdapterLimits) {
    const uint32_t n_pieces = n_adapter_pieces(c.n_in);
    in_ = rig_.input(random_inputs(kRowContents, c.n_in, 1));
    out_ = rig_.input(random_inputs(kRowContents, c.n_out, 2));
    const WeightId down = stack(kRankRoom, c.n_in), up = stack(c.n_out, kRankRoom);
    const WeightId ranks = rig_.vector(std::vector<float>(kAdapterSlots));
    std::vector<float> own_ranks;
    for (uint32_t slot = 0; slot < kAdapterSlots; ++slot) {
      own_ranks.push_back(static_cast<float>(c.ranks[slot]));
      if (c.ranks[slot] == 0) continue;
      std::vector<float> ups = random_values(size_t{c.n_out} * kRankRoom, 40 + slot);
      for (size_t i = 0; i < ups.size(); ++i) ups[i] = i % kRankRoom < c.ranks[slot] ? ups[i] : 0.0f;
      Backend& to = rig_.backend();
      const auto downs = random_values(size_t{c.ranks[slot]} * c.n_in, 30 + slot);
      EXPECT_TRUE(to.write_weights(down, size_t{slot} * kRankRoom, downs).ok());
      EXPECT_TRUE(to.write_weights(up, size_t{slot} * c.n_out, ups).ok());
    }
    EXPECT_TRUE(rig_.backend().write_weights(ranks, 0, own_ranks).ok());
    const ActId low = rig_.output(n_pieces * kRankRoom);
    down_ = {.low = low, .in = in_, .down = down, .ranks = ranks, .factor = 0.7f};
    up_ = {.out = out_,
           .low = low,
           .up = up,
           .ranks = ranks,
           .n_pieces = n_pieces,
           .activation = c.activation,
           .scale = c.scale,
           .softcap = c.softcap};
  }

  std::vector<float> run(const TestBatch& batch) {
    rig_.step(batch, {in_, out_}, [&](Program& p) {
      p.add(down_);
      p.add(up_);
    });
    return rig_.read(out_);
  }

 private:
  WeightId stack(uint32_t n_rows, uint32_t n_cols) {
    const std::vector<float> zeros(size_t{kAdapterSlots} * n_rows * n_cols);
    MatrixSource source{"stack", TypeId::kF32, kAdapterSlots, n_rows, n_cols, {std::as_bytes(std::span(zeros))}, {}};
    source.is_writable = true;
    return *rig_.backend().load_matrix(source);
  }

  AdapterCase case_;
  OpRig rig_;
  ActId in_{}, out_{};
  AdapterDownOp down_{};
  AdapterUpOp up_{};
};

const std::vector<std::pair<uint32_t, BatchAdapter>> kMixedRows{
    {1, {2, 1.0f}}, {1, {}}, {1, {0, 1.0f}}, {19, {0, -0.5f}}, {3, {1, 2.0f}}, {6, {}}, {5, {2, 1.0f}}};

class AdapterOps : public testing::TestWithParam<BackendUnderTest> {
 protected:
  void SetUp() override { skip_where_absent(GetParam()); }
};

// For sums of n_in and of rank products of numbers below 1, one after the other.
double bound_of(const AdapterCase& c, const BatchAdapter& adapter) {
  const double rank = adapter.slot == BatchAdapter::kNone ? 0 : c.ranks[adapter.slot];
  const double factor = 0.7 * std::fabs(adapter.factor), low = factor * std::sqrt(c.n_in / 9.0) * kSigmas;
  const double low_error = factor * kSigmas * sum_sigma(c.n_in) * c.n_in / 3;
  const double size = 1 + rank * low;
  const double error = rank * low_error + kSigmas * sum_sigma(static_cast<uint32_t>(rank) + 2) * size;
  const bool is_mapped = c.activation != Activation::kNone || c.softcap > 0;
  return is_mapped ? 2 * error + 4 * kTanhError * (size + c.softcap) : error;
}

TEST_P(AdapterOps, AddEachRowsAdapter) {
  const SeqRowsWith rows = rows_with(kMixedRows, 3);
  for (const AdapterCase& c : kAdapterCases) {
    const auto expected = AdapterRig(make_reference_backend(), c).run(rows.batch);
    const auto actual = AdapterRig(*GetParam().make(2), c).run(rows.batch);
    std::vector<double> bounds;
    for (const BatchAdapter& adapter : rows.of_row) bounds.insert(bounds.end(), c.n_out, bound_of(c, adapter));
    EXPECT_TRUE(within(actual, expected, bounds, c.n_out)) << c.n_in << " to " << c.n_out;
  }
}

// A row's values follow from its content, so every row is checked by itself.
TEST_P(AdapterOps, GiveARowTheSameBitsAloneAndAmongOthers) {
  const SeqRowsWith rows = rows_with(kMixedRows, 3);
  for (const AdapterCase& c : {kAdapterCases[3], kAdapterCases[5]}) {
    AdapterRig alone(*GetParam().make(1), c);
    for (uint32_t n_threads = 1; n_threads <= GetParam().max_threads; ++n_threads) {
      const auto together = AdapterRig(*GetParam().make(n_threads), c).run(rows.batch);
      for (size_t r = 0; r < rows.of_row.size(); ++r) {
        SeqRowsWith one = rows_with({{1, rows.of_row[r]}}, r % 2);
        one.batch.tokens = {rows.batch.tokens[r]};
        const auto expected = alone.run(one.batch);
        EXPECT_EQ(std::memcmp(together.data() + r * c.n_out, expected.data(), c.n_out * sizeof(float)), 0)
            << "row " << r << ", " << n_threads << " threads";
      }
    }
  }
}

TEST_P(AdapterOps, LeaveRowsWithoutOneAsTheyAre) {
  const AdapterCase& c = kAdapterCases[1];
  const SeqRowsWith rows = rows_with({{3, {}}, {2, {0, 1.0f}}}, 1);
  const InputTable before = random_inputs(kRowContents, c.n_out, 2);
  const auto after = AdapterRig(*GetParam().make(2), c).run(rows.batch);
  for (uint32_t r = 0; r < 3; ++r) {
    const float* row = before.row(static_cast<uint32_t>(rows.batch.tokens[r]));
    EXPECT_EQ(std::memcmp(after.data() + r * c.n_out, row, c.n_out * sizeof(float)), 0) << "row " << r;
  }
}

TEST_P(AdapterOps, RefuseWeightsThatAreNoNumbers) {
  const auto backend = *GetParam().make(1);
  ASSERT_TRUE(backend->configure(kAdapterLimits).ok());
  const auto vector = backend->load_vector(std::vector<float>(3));
  EXPECT_EQ(backend->write_weights(*vector, 0, std::vector<float>{1, NAN, 2}).error().code, ErrorCode::kFormatError);
}

INSTANTIATE_TEST_SUITE_P(Operations, AdapterOps, testing::ValuesIn(backends_under_test()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace realizar::test
