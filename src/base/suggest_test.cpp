#include "base/suggest.h"

#include <gtest/gtest.h>

namespace realizar {
namespace {

TEST(Suggest, CountsLettersThatDiffer) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("run", ""), 3u);
  EXPECT_EQ(edit_distance("", "run"), 3u);
  EXPECT_EQ(edit_distance("rnu", "run"), 1u);
  EXPECT_EQ(edit_distance("temprature", "temperature"), 1u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(Suggest, FindsTheNearestWordOrNone) {
  const std::vector<std::string> words{"serve", "run", "inspect"};
  EXPECT_EQ(closest("serv", words), "serve");
  EXPECT_EQ(closest("rnu", words), "run");
  EXPECT_EQ(closest("ins", words), "inspect");
  for (const char* word : {"", "xyz", "servants of", "abcdefgh"}) EXPECT_EQ(closest(word, words), "") << word;
  EXPECT_EQ(closest(std::string(5000, 's'), words), "");
  EXPECT_EQ(did_you_mean("serv", words), "; did you mean serve?");
  EXPECT_EQ(did_you_mean("xyz", words), "");
}

}  // namespace
}  // namespace realizar
