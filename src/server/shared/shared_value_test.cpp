#include "server/shared/shared_value.h"

#include <gtest/gtest.h>

#include <set>

namespace realizar::server {
namespace {

constexpr uint32_t kBlockTokens = 4;

std::vector<TokenId> tokens_from(int32_t first, size_t n) {
  std::vector<TokenId> tokens;
  for (size_t i = 0; i < n; ++i) tokens.push_back(TokenId{first + static_cast<int32_t>(i)});
  return tokens;
}

// A value of one piece, and the piece to check it against.
struct ValueRig {
  Sha256 root{}, chain{};
  std::vector<TokenId> tokens = tokens_from(7, kBlockTokens);
  std::vector<std::byte> bytes;

  explicit ValueRig(bool is_plain = true, size_t n_bytes = 3000) : bytes(n_bytes) {
    root.fill(3);
    chain.fill(5);
    uint32_t state = 1;
    for (std::byte& byte : bytes) {
      state = state * 1664525 + 1013904223;
      byte = is_plain ? std::byte{1} : static_cast<std::byte>(state >> 24);
    }
  }
  SharedPiece piece() const { return {9, &root, &chain, 2, tokens}; }
  std::string value() const { return write_value(piece(), bytes).value(); }
  bool reads(std::string_view value, const SharedPiece& piece) const {
    std::vector<std::byte> read(bytes.size());
    const bool is_sound = read_value(value, piece, read);
    EXPECT_TRUE(!is_sound || read == bytes);
    return is_sound;
  }
};

TEST(SharedValue, WhatIsWrittenIsRead) {
  for (const bool is_plain : {false, true}) {
    for (const size_t n_bytes : {1u, 100u, 3000u, 300'000u}) {
      const ValueRig rig(is_plain, n_bytes);
      const std::string value = rig.value();
      EXPECT_TRUE(rig.reads(value, rig.piece()));
      EXPECT_LE(value.size(), max_value_bytes(kBlockTokens, n_bytes));
    }
  }
}

TEST(SharedValue, OnlyWhatShrinksIsCompressed) {
  const ValueRig plain(true), mixed(false);
  EXPECT_LT(plain.value().size(), 300u);
  EXPECT_EQ(mixed.value().size(), max_value_bytes(kBlockTokens, mixed.bytes.size()));
}

TEST(SharedValue, AnyByteThatIsAnotherIsSeen) {
  for (const bool is_plain : {false, true}) {
    const ValueRig rig(is_plain, 200);
    const std::string value = rig.value();
    for (size_t at = 0; at < value.size(); ++at) {
      std::string other = value;
      other[at] = static_cast<char>(other[at] ^ 1);
      EXPECT_FALSE(rig.reads(other, rig.piece())) << at;
      EXPECT_FALSE(rig.reads(std::string_view(value).substr(0, at), rig.piece())) << at;
    }
    EXPECT_FALSE(rig.reads(value + '\0', rig.piece()));
  }
}

TEST(SharedValue, TheValueOfAnotherPieceIsNotBelieved) {
  const ValueRig rig;
  const std::string value = rig.value();
  SharedPiece other = rig.piece();
  other.fingerprint = 8;
  EXPECT_FALSE(rig.reads(value, other));
  other = rig.piece();
  other.kind = 1;
  EXPECT_FALSE(rig.reads(value, other));
  Sha256 digest{};
  other = rig.piece();
  other.chain = &digest;
  EXPECT_FALSE(rig.reads(value, other));
  const auto tokens = tokens_from(8, kBlockTokens), more = tokens_from(7, kBlockTokens + 1);
  other = rig.piece();
  other.tokens = tokens;
  EXPECT_FALSE(rig.reads(value, other));
  other.tokens = more;
  EXPECT_FALSE(rig.reads(value, other));
  other = rig.piece();
  other.root = &digest;
  EXPECT_FALSE(rig.reads(value, other)) << "whoever does not know the root makes no value that is believed";
  std::vector<std::byte> longer(rig.bytes.size() + 1), shorter(rig.bytes.size() - 1);
  EXPECT_FALSE(read_value(value, rig.piece(), longer));
  EXPECT_FALSE(read_value(value, rig.piece(), shorter));
}

TEST(SharedNames, AnythingThatCountsMakesOtherNames) {
  const auto text = tokens_from(1, 9);
  const engine::PrefixShape shape{.fingerprint = 1, .block_tokens = kBlockTokens, .n_groups = 1, .block_bytes = 64};
  std::set<std::string> keys;
  const auto add = [&](const SharedNames& names) {
    keys.insert(names.key_of({0, 0}));
    keys.insert(names.key_of({1, 0}));
    keys.insert(names.key_of({1, 1}));
  };
  add({shape, {}, "key", text});
  engine::PrefixShape other = shape;
  other.fingerprint = 2;
  add({other, {}, "key", text});
  other = shape;
  other.block_bytes = 128;
  add({other, {}, "key", text});
  add({shape, {}, "yek", text});
  add({shape, {}, "", text});
  add({shape, {.adapter_fingerprint = 5, .adapter_factor = 1}, "key", text});
  add({shape, {.adapter_fingerprint = 5, .adapter_factor = 2}, "key", text});
  EXPECT_EQ(keys.size(), 7u * 3u);
  const SharedNames again(shape, {}, "key", text);
  EXPECT_FALSE(again.key_of({0, 0}).starts_with(SharedNames::beginning_of({}))) << "of another API key";
  const SharedNames keyless(shape, {}, std::string(32, '\0') + "salt", text);
  EXPECT_TRUE(keyless.key_of({0, 0}).starts_with(SharedNames::beginning_of({})));
  EXPECT_TRUE(keys.contains(again.key_of({1, 0}))) << "the same on every server";
  const SharedNames salted(shape, {.cache_salt = 17}, "key", text);
  EXPECT_EQ(salted.key_of({1, 0}), again.key_of({1, 0})) << "the salt of one server's cache counts for nothing";
}

TEST(SharedNames, ABlocksNameStandsForAllTokensUpToItsEnd) {
  const engine::PrefixShape shape{.block_tokens = kBlockTokens};
  auto tokens = tokens_from(1, 8);
  const SharedNames names(shape, {}, "", tokens);
  tokens.push_back(TokenId{1});
  const SharedNames longer(shape, {}, "", tokens);
  EXPECT_EQ(longer.key_of({1, 0}), names.key_of({1, 0}));
  tokens[0] = TokenId{2};
  const SharedNames other(shape, {}, "", tokens);
  EXPECT_NE(other.key_of({1, 0}), names.key_of({1, 0}));
}

}  // namespace
}  // namespace realizar::server
