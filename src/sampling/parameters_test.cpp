#include "sampling/parameters.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "sampling/sampler.h"

namespace realizar {
namespace {

TEST(SamplingParameters, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const SamplingParameter& parameter : kSamplingParameters) {
    EXPECT_TRUE(names.insert(parameter.name).second) << parameter.name;
    EXPECT_FALSE(parameter.help.empty()) << parameter.name;
    EXPECT_EQ(find_sampling_parameter(parameter.name), &parameter);
  }
  EXPECT_EQ(find_sampling_parameter("colour"), nullptr);
}

TEST(SamplingParameters, DefaultsAreInTheirRanges) {
  const SamplingParams defaults;
  for (const SamplingParameter& parameter : kSamplingParameters) {
    visit_parameter(parameter, defaults, [&](auto value) {
      EXPECT_TRUE(parameter.range.has(static_cast<double>(value))) << parameter.name;
    });
  }
}

TEST(SamplingParameters, BoundsHoldForEachRow) {
  const double tiny = 1e-6;
  for (const SamplingParameter& parameter : kSamplingParameters) {
    const std::string name(parameter.name);
    const auto accepts = [&](double value) {
      SamplingParams params;
      const Status status = set_sampling_parameter(params, name, value);
      EXPECT_EQ(status.ok() ? name : status.error().subject, name);
      return status.ok() && validate(params, 1).ok();
    };
    EXPECT_FALSE(accepts(NAN)) << name;
    EXPECT_FALSE(accepts(INFINITY)) << name;
    if (std::isfinite(parameter.range.min)) {
      EXPECT_FALSE(accepts(parameter.range.min - 1)) << name;
      EXPECT_EQ(accepts(parameter.range.min), !parameter.range.above) << name;
    }
    if (std::isfinite(parameter.range.max)) {
      EXPECT_TRUE(accepts(parameter.range.max)) << name;
      EXPECT_FALSE(accepts(parameter.range.max + tiny)) << name;
    }
  }
}

TEST(SamplingParameters, WholeNumbersStayWhole) {
  SamplingParams params;
  EXPECT_TRUE(set_sampling_parameter(params, "top_k", 7).ok());
  EXPECT_EQ(params.top_k, 7);
  for (const double wrong : {7.5, 2147483648.0, 1e300}) {
    const Status status = set_sampling_parameter(params, "top_k", wrong);
    ASSERT_FALSE(status.ok()) << wrong;
    EXPECT_EQ(status.error().subject, "top_k");
    EXPECT_EQ(params.top_k, 7);
  }
  EXPECT_TRUE(set_sampling_parameter(params, "seed", 0x1p63).ok());
  EXPECT_EQ(params.seed, uint64_t{1} << 63);
  EXPECT_FALSE(set_sampling_parameter(params, "seed", 0x1p64).ok());
  EXPECT_FALSE(set_sampling_parameter(params, "seed", -1).ok());
}

TEST(SamplingParameters, FiltersAreOffByTheirOffValue) {
  SamplingParams params;
  for (const SamplingParameter& parameter : kSamplingParameters) {
    if (parameter.filter.apply == nullptr) continue;
    params.*std::get<float SamplingParams::*>(parameter.member) = parameter.filter.off;
    Candidates candidates = {{TokenId{0}, 2, 0.5}, {TokenId{1}, 1, 0.3}, {TokenId{2}, 0, 0.2}};
    parameter.filter.apply(parameter.filter.off, candidates);
    EXPECT_EQ(candidates.size(), 3u) << parameter.name;
  }
  size_t n_on = 0;
  for_each_filter(params, [&n_on](float, const CandidateFilter&) { ++n_on; });
  EXPECT_EQ(n_on, 0u);
  params.min_p = 0.5f;
  for_each_filter(params, [&n_on](float value, const CandidateFilter&) { n_on += value == 0.5f ? 1 : 0; });
  EXPECT_EQ(n_on, 1u);
}

}  // namespace
}  // namespace realizar
