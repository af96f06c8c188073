#include "base/random_bytes.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace realizar {
namespace {

TEST(RandomBytes, AllOfThemAreDrawn) {
  std::array<std::byte, 256> first{}, second{};
  fill_randomly(first);
  fill_randomly(second);
  for (size_t at = 0; at < first.size(); at += 16) {
    EXPECT_NE(std::memcmp(&first[at], &second[at], 16), 0) << at;
  }
  fill_randomly({});
}

}  // namespace
}  // namespace realizar
