#include "kv/sip_hash.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace realizar::kv {
namespace {

// Test vectors of the reference implementation: key bytes 00 to 0f, input bytes 00, 01, ....
TEST(SipHash, GivesTheReferencesValues) {
  constexpr HashKey kKey{0x0706050403020100u, 0x0f0e0d0c0b0a0908u};
  std::vector<std::byte> input(64);
  for (size_t i = 0; i < input.size(); ++i) input[i] = static_cast<std::byte>(i);
  const std::vector<std::pair<size_t, uint64_t>> vectors{
      {0, 0x726fdb47dd0e0e31u}, {1, 0x74f839c593dc67fdu},  {3, 0x85676696d7fb7e2du},  {7, 0xab0200f58b01d137u},
      {8, 0x93f5f5799a932462u}, {15, 0xa129ca6149be45e5u}, {16, 0x3f2acc7f57c29bdbu}, {63, 0x958a324ceb064572u}};
  for (const auto& [n_bytes, expected] : vectors) {
    EXPECT_EQ(SipHash(kKey).finish(std::span(input).first(n_bytes)), expected) << n_bytes;
  }
  SipHash in_parts(kKey);
  in_parts.take(0x0706050403020100u);
  EXPECT_EQ(in_parts.finish(std::span(input).subspan(8, 7)), 0xa129ca6149be45e5u) << "a word, then bytes";
}

TEST(SipHash, AnotherKeyIsAnotherHash) {
  EXPECT_NE(random_hash_key(), random_hash_key());
  EXPECT_NE(SipHash({1, 2}).finish({}), SipHash({1, 3}).finish({}));
  EXPECT_NE(SipHash({1, 2}).finish({}), SipHash({3, 2}).finish({}));
}

}  // namespace
}  // namespace realizar::kv
