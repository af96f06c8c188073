#include "server/watch/metrics_history.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace realizar::server {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

LatencyCounts counts(std::vector<uint64_t> n) {
  return {{0.1, 0.2, kInfinity}, std::move(n)};
}

TEST(MetricsHistory, AQuantileIsInterpolatedInItsClass) {
  EXPECT_EQ(quantile_between(counts({0, 0, 0}), counts({4, 8, 8}), 0.25), 0.05);
  EXPECT_EQ(quantile_between(counts({0, 0, 0}), counts({4, 8, 8}), 0.5), 0.1);
  EXPECT_DOUBLE_EQ(*quantile_between(counts({0, 0, 0}), counts({4, 8, 8}), 0.75), 0.15);
}

TEST(MetricsHistory, AQuantileIsOfWhatCameBetween) {
  EXPECT_DOUBLE_EQ(*quantile_between(counts({100, 100, 100}), counts({100, 102, 102}), 0.5), 0.15);
  EXPECT_EQ(quantile_between(counts({3, 4, 5}), counts({3, 4, 5}), 0.5), std::nullopt);
  EXPECT_EQ(quantile_between({}, {}, 0.5), std::nullopt);
}

TEST(MetricsHistory, BeyondTheLastBoundThatBoundIsTheAnswer) {
  EXPECT_EQ(quantile_between({}, counts({0, 0, 7}), 0.5), 0.2);
}

TEST(MetricsHistory, RatesAreOfTheTimeBetweenTwoSamples) {
  MetricsHistory history;
  MetricsTotals totals;
  totals.n_generated_tokens = 100;
  totals.n_prefix_queried = 10;
  totals.n_running = 2;
  history.add(totals, 1000);
  totals.n_generated_tokens = 150;
  totals.n_failed = 1;
  totals.n_prefix_queried = 30;
  totals.n_prefix_hits = 5;
  totals.inter_token = counts({4, 8, 8});
  history.add(totals, 1005);
  const Json json = history.columns(0);
  EXPECT_EQ(json["time"], Json::array({1000.0, 1005.0}));
  EXPECT_EQ(json["running"], Json::array({2.0, 2.0}));
  EXPECT_EQ(json["generated_tokens_per_s"], Json::array({nullptr, 10.0}));
  EXPECT_EQ(json["failed_per_s"], Json::array({nullptr, 0.2}));
  EXPECT_EQ(json["prefix_hit_share"], Json::array({nullptr, 0.25}));
  EXPECT_EQ(json["inter_token_p50_s"], Json::array({nullptr, 0.1}));
  EXPECT_EQ(json["first_token_p50_s"], Json::array({nullptr, nullptr}));
}

TEST(MetricsHistory, AModelThatIsUnloadedTakesItsCountsAndNoRateIsNegative) {
  MetricsHistory history;
  MetricsTotals totals;
  totals.n_prompt_tokens = 100;
  history.add(totals, 1000);
  totals.n_prompt_tokens = 20;
  history.add(totals, 1005);
  EXPECT_EQ(history.columns(1000)["prompt_tokens_per_s"], Json::array({0.0}));
}

TEST(MetricsHistory, AClockThatIsSetBackGivesNoRate) {
  MetricsHistory history;
  history.add({}, 1000);
  history.add({}, 990);
  EXPECT_EQ(history.columns(0)["requests_per_s"], Json::array({nullptr, nullptr}));
}

TEST(MetricsHistory, KeepsAnHourAndGivesWhatIsNew) {
  MetricsHistory history;
  const size_t n = MetricsHistory::kMaxSamples;
  for (size_t i = 0; i <= n; ++i) history.add({}, static_cast<double>(i));
  const Json all = history.columns(-1);
  EXPECT_EQ(all["time"].size(), n);
  EXPECT_EQ(all["time"].front(), 1.0);
  for (const auto& [name, values] : all.items()) EXPECT_EQ(values.size(), n) << name;
  EXPECT_EQ(history.columns(static_cast<double>(n) - 2)["time"], Json::array({double(n) - 1, double(n)}));
  EXPECT_EQ(history.columns(static_cast<double>(n))["time"], Json::array());
}

}  // namespace
}  // namespace realizar::server
