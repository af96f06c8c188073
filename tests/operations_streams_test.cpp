// Operations on rows with several hidden states side by side (AltUp), on gates that are cut relative to their row, and
// norms that make a row as large as another, against the reference.
#include <gtest/gtest.h>

#include <cmath>

#include "backend/reference/reference_backend.h"
#include "support/backends_under_test.h"
#include "support/error_model.h"
#include "support/op_rig.h"

namespace realizar::test {
namespace {

constexpr uint32_t kStreamRows = 9, kStreamDecodeRows = 3;
constexpr float kLeast = 1e-12f;

class StreamsTest : public testing::TestWithParam<BackendUnderTest> {
 protected:
  void SetUp() override { skip_where_absent(GetParam()); }
};

struct RowSize {
  double mean = 0, magnitude = 0, std = 0;  // magnitude: of |x|
};

RowSize size_of(const float* x, uint32_t n) {
  RowSize size;
  for (uint32_t i = 0; i < n; ++i) {
    size.mean += double{x[i]} / n;
    size.magnitude += std::fabs(double{x[i]}) / n;
  }
  for (uint32_t i = 0; i < n; ++i) size.std += (x[i] - size.mean) * (x[i] - size.mean) / n;
  size.std = std::sqrt(size.std);
  return size;
}

struct CutCase {
  float n_stds;
  Activation activation;
  bool in_place;
};

std::vector<float> cut(std::unique_ptr<Backend> backend, const InputTable& inputs, const CutCase& c) {
  OpRig rig(std::move(backend), {.max_rows = kStreamRows, .max_logit_rows = 1});
  const ActId in = rig.input(inputs), out = c.in_place ? in : rig.output(inputs.n_cols);
  const CutOp op{.out = out, .in = in, .n_stds = c.n_stds, .activation = c.activation};
  rig.step(rows_of(first_tokens(kStreamRows), kStreamDecodeRows), {in}, [&](Program& p) { p.add(op); });
  return rig.read(out);
}

// The error of the mean and the deviation affects every element, before the activation.
std::vector<double> cut_bounds(const InputTable& inputs, const CutCase& c) {
  const uint32_t n = inputs.n_cols;
  const double sum_error = kSigmas * sum_sigma(n);
  std::vector<double> bounds;
  for (uint32_t r = 0; r < kStreamRows; ++r) {
    const RowSize size = size_of(inputs.row(r), n);
    const double mean_error = sum_error * size.magnitude, stds = std::fabs(c.n_stds);
    const double least_error = mean_error + stds * (mean_error + size.std * (sum_error / 2 + 4 * kUnit)) +
                               4 * kUnit * (std::fabs(size.mean) + stds * size.std);
    for (uint32_t i = 0; i < n; ++i) {
      const double x = std::max(0.0, inputs.row(r)[i] - size.mean - c.n_stds * size.std);
      bounds.push_back(activation_error(c.activation, x, least_error + kUnit * x) + kDenormal);
    }
  }
  return bounds;
}

TEST_P(StreamsTest, CutsKeepWhatStandsOutFromItsRow) {
  for (const uint32_t n_cols : {1u, 2u, 33u, 257u, 1500u}) {
    InputTable inputs = random_inputs(kStreamRows, n_cols, 1);
    for (uint32_t i = 0; i < n_cols; ++i) {
      inputs.row(1)[i] = 0.5f;  // nothing does
      inputs.row(2)[i] += 100.0f;
      inputs.row(3)[i] *= 1e3f;
    }
    for (const CutCase& c : {CutCase{1.6448534f, Activation::kGelu, true},
                             {0.0f, Activation::kGelu, false},
                             {-0.7f, Activation::kNone, false},
                             {0.5f, Activation::kSilu, true}}) {
      const auto expected = cut(make_reference_backend(), inputs, c);
      EXPECT_TRUE(within(cut(*GetParam().make(2), inputs, c), expected, cut_bounds(inputs, c), n_cols))
          << n_cols << " columns, " << c.n_stds << " deviations";
    }
  }
}

struct StreamData {
  InputTable x, router;
  std::vector<InputTable> streams;
  std::vector<float> coefs, scale;
  bool corrects;

  uint32_t n() const { return static_cast<uint32_t>(streams.size()); }
};

StreamData random_streams(uint32_t n_streams, uint32_t n_cols, bool corrects, bool has_scale) {
  StreamData data{.x = random_inputs(kStreamRows, n_cols, 1),
                  .router = random_inputs(kStreamRows, n_streams, 2),
                  .streams = {},
                  .coefs = random_values((corrects ? 1 : n_streams) * n_streams * n_streams, 3),
                  .scale = has_scale ? random_values(n_cols, 4) : std::vector<float>(),
                  .corrects = corrects};
  for (uint32_t i = 0; i < n_streams; ++i) data.streams.push_back(random_inputs(kStreamRows, n_cols, 5 + i));
  return data;
}

// x, then all streams.
std::vector<std::vector<float>> updated(std::unique_ptr<Backend> backend, const StreamData& data) {
  OpRig rig(std::move(backend), {.max_rows = kStreamRows, .max_logit_rows = 1});
  AltUpOp op{.x = rig.input(data.x),
             .streams = kNoStreams,
             .n_streams = data.n(),
             .router = rig.input(data.router),
             .coefs = rig.vector(data.coefs),
             .scale = data.scale.empty() ? kNoWeight : rig.vector(data.scale),
             .corrects = data.corrects};
  // Missing streams are named as an existing input.
  ActId inputs[kMaxStreams] = {op.x, op.x, op.x, op.x};
  for (uint32_t i = 0; i < data.n(); ++i) op.streams[i] = inputs[i] = rig.input(data.streams[i]);
  rig.step(rows_of(first_tokens(kStreamRows), kStreamDecodeRows),
           {op.x, op.router, inputs[0], inputs[1], inputs[2], inputs[3]}, [&](Program& p) { p.add(op); });
  std::vector<std::vector<float>> all{rig.read(op.x)};
  for (uint32_t i = 0; i < data.n(); ++i) all.push_back(rig.read(op.streams[i]));
  return all;
}

// A coefficient is a sum of n products, and a state one of n or of two: no more than about ten roundings of their
// maximum sum.
std::vector<std::vector<double>> stream_bounds(const StreamData& data) {
  constexpr double kRoundings = 16 * kUnit;
  const uint32_t n = data.n(), n_cols = data.x.n_cols;
  std::vector<std::vector<double>> bounds(n + 1);
  const auto share = [&](uint32_t i, uint32_t row) {
    double sum = 0;
    for (uint32_t j = 0; j < n; ++j) sum += std::fabs(double{data.coefs[i * n + j]} * data.router.row(row)[j]);
    return sum;
  };
  for (uint32_t r = 0; r < kStreamRows; ++r) {
    for (uint32_t c = 0; c < n_cols; ++c) {
      const auto state = [&](uint32_t i) { return std::fabs(double{data.streams[i].row(r)[c]}); };
      for (uint32_t i = 0; i < n; ++i) {
        double size = state(i);
        for (uint32_t j = 0; !data.corrects && j < n; ++j) size += share(i * n + j, r) * state(j);
        if (data.corrects) size += (1 + share(i, r)) * (std::fabs(double{data.x.row(r)[c]}) + state(0));
        bounds[i + 1].push_back(kRoundings * size + kDenormal);
      }
      const double scale = data.scale.empty() ? 1 : std::fabs(data.scale[c]);
      bounds[0].push_back(2 * bounds[1].back() * scale);
    }
  }
  return bounds;
}

TEST_P(StreamsTest, StatesOfARowArePredictedAndCorrected) {
  for (const uint32_t n_streams : {2u, 3u, 4u}) {
    for (const uint32_t n_cols : {1u, 33u, 256u, 600u}) {
      for (const bool corrects : {false, true}) {
        const StreamData data = random_streams(n_streams, n_cols, corrects, corrects && n_cols != 33);
        const auto expected = updated(make_reference_backend(), data), actual = updated(*GetParam().make(2), data);
        const auto bounds = stream_bounds(data);
        for (size_t i = 0; i < expected.size(); ++i) {
          EXPECT_TRUE(within(actual[i], expected[i], bounds[i], n_cols))
              << n_streams << " streams of " << n_cols << (corrects ? ", corrected" : ", predicted") << ", " << i;
        }
      }
    }
  }
}

std::vector<float> as_large(std::unique_ptr<Backend> backend, const InputTable& inputs, const InputTable& like,
                            bool accumulate) {
  OpRig rig(std::move(backend), {.max_rows = kStreamRows, .max_logit_rows = 1});
  const ActId in = rig.input(inputs), other = rig.input(like), out = accumulate ? rig.input(inputs) : in;
  const NormOp op{.out = out, .in = in, .like = other, .eps = kLeast, .accumulate = accumulate, .scale = 0.25f};
  rig.step(rows_of(first_tokens(kStreamRows), kStreamDecodeRows), {in, other, out}, [&](Program& p) { p.add(op); });
  return rig.read(out);
}

// Two roots of sums, and a few roundings. A row of zeros stays zero.
TEST_P(StreamsTest, NormsMakeARowAsLargeAsAnother) {
  for (const uint32_t n_cols : {1u, 33u, 257u}) {
    InputTable inputs = random_inputs(kStreamRows, n_cols, 1), like = random_inputs(kStreamRows, 2 * n_cols, 2);
    for (uint32_t i = 0; i < n_cols; ++i) inputs.row(1)[i] = 0.0f;
    for (uint32_t i = 0; i < 2 * n_cols; ++i) like.row(2)[i] *= 1e3f;
    for (const bool accumulate : {false, true}) {
      const auto expected = as_large(make_reference_backend(), inputs, like, accumulate);
      std::vector<double> bounds;
      for (size_t i = 0; i < expected.size(); ++i) {
        const double before = accumulate ? std::fabs(inputs.values[i]) : 0;
        const double relative = kSigmas * (sum_sigma(n_cols) + sum_sigma(2 * n_cols)) / 2 + 8 * kUnit;
        bounds.push_back(relative * (std::fabs(expected[i]) + before) + kDenormal);
      }
      const auto actual = as_large(*GetParam().make(2), inputs, like, accumulate);
      EXPECT_TRUE(within(actual, expected, bounds, n_cols)) << n_cols << " columns";
      for (uint32_t i = 0; i < n_cols; ++i) EXPECT_EQ(actual[n_cols + i], 0.0f);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, StreamsTest, testing::ValuesIn(backends_under_test()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace realizar::test
