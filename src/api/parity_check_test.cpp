#include "api/parity_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace realizar {
namespace {

constexpr size_t kVocab = 500, kPositions = 48;

// Logits of a correct backend, over a range of about 20.
std::vector<float> logits() {
  std::mt19937 random(9);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> values(kVocab * kPositions);
  for (float& value : values) value = normal(random);
  return values;
}

std::span<float> row(std::vector<float>& values, size_t position) {
  return std::span(values).subspan(position * kVocab, kVocab);
}

// Moves the second likeliest token to the front, by `lead`.
void swap_likeliest(std::span<float> row, float lead) {
  std::vector<float> sorted(row.begin(), row.end());
  std::sort(sorted.rbegin(), sorted.rend());
  *std::find(row.begin(), row.end(), sorted[1]) = sorted[0] + lead;
}

const ParityBounds kBounds = ParityBounds::of(CacheType::kF16);

bool passes(const std::vector<float>& actual, const std::vector<float>& expected) {
  return compare_logits(actual, expected, kVocab, kBounds).is_rounding(kBounds);
}

TEST(Parity, RoundingPasses) {
  const auto expected = logits();
  auto actual = expected;
  std::mt19937 random(2);
  std::normal_distribution<float> normal(0, 0.02f);
  for (float& value : actual) value += normal(random);
  EXPECT_TRUE(passes(actual, expected));
  EXPECT_TRUE(passes(expected, expected));
  EXPECT_EQ(compare_logits(expected, expected, kVocab, kBounds).error, 0);
}

TEST(Parity, CoarserCachesHaveWiderBoundsThatAWrongModelStillExceeds) {
  const auto expected = logits();
  auto near = expected, wrong = expected;
  std::mt19937 random(2);
  std::normal_distribution<float> normal(0, 0.3f);
  for (float& value : near) value += normal(random);
  std::ranges::rotate(wrong, wrong.begin() + kVocab);
  for (const auto& [name, type] : kCacheTypeNames) {
    const ParityBounds bounds = ParityBounds::of(type);
    EXPECT_FALSE(compare_logits(wrong, expected, kVocab, bounds).is_rounding(bounds)) << name;
    EXPECT_EQ(compare_logits(near, expected, kVocab, bounds).is_rounding(bounds), bounds.max_error > 0.05) << name;
  }
}

TEST(Parity, OneNumberThatIsNoneFailsWhereverItStandsAndWhateverFollows) {
  const auto expected = logits();
  for (const float wrong : {NAN, INFINITY, -INFINITY}) {
    for (const size_t at : {size_t{0}, kVocab * 7 + 3, kVocab * kPositions - 1}) {
      auto actual = expected;
      actual[at] = wrong;
      EXPECT_FALSE(passes(actual, expected)) << at;
      EXPECT_FALSE(passes(expected, actual)) << at;
      EXPECT_FALSE(passes(actual, actual)) << "both are as wrong";
    }
  }
}

TEST(Parity, OneLogitThatIsFarOffFails) {
  const auto expected = logits();
  for (const size_t at : {size_t{5}, kVocab * kPositions - 2}) {
    auto actual = expected;
    actual[at] -= 5;
    EXPECT_FALSE(passes(actual, expected));
  }
}

TEST(Parity, AnotherChoiceFailsThoughEveryLogitIsNear) {
  auto expected = logits();
  // Two tokens lead by 0.6 of a range of about 20: too much for rounding, but well within the largest error.
  for (size_t position = 0; position < kPositions; ++position) {
    auto values = row(expected, position);
    const float largest = *std::max_element(values.begin(), values.end());
    values[3] = largest + 2;
    values[4] = largest + 1.4f;
  }
  auto actual = expected;
  for (size_t position = 0; position < 2; ++position) row(actual, position)[4] += 0.7f;
  EXPECT_TRUE(passes(actual, expected)) << "2 of 48";
  for (size_t position = 0; position < 3; ++position) row(actual, position)[4] = row(actual, position)[3] + 0.1f;
  EXPECT_LT(compare_logits(actual, expected, kVocab, kBounds).error, 0.05);
  EXPECT_FALSE(passes(actual, expected)) << "3 of 48";
}

TEST(Parity, TokensThatAreAsLikelyMayChangePlaces) {
  auto expected = logits();
  for (size_t position = 0; position < kPositions; ++position) {
    auto values = row(expected, position);
    const float largest = *std::max_element(values.begin(), values.end());
    values[8] = largest + 0.02f;
    values[9] = largest + 0.01f;
  }
  auto actual = expected;
  for (size_t position = 0; position < kPositions; ++position) swap_likeliest(row(actual, position), 0.01f);
  const ParityDifference difference = compare_logits(actual, expected, kVocab, kBounds);
  EXPECT_EQ(difference.n_same, 0u);
  EXPECT_EQ(difference.n_agreeing, kPositions);
  EXPECT_TRUE(difference.is_rounding(kBounds));
}

}  // namespace
}  // namespace realizar
