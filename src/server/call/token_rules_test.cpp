#include "server/call/token_rules.h"

#include <gtest/gtest.h>

#include <set>

namespace realizar::server {
namespace {

constexpr uint32_t kVocab = 130;  // not a multiple of 64

// Only allows `ids`, and counts its calls.
class Only final : public TokenConstraint {
 public:
  explicit Only(std::set<int32_t> ids) : ids_(std::move(ids)) {}
  bool allow(std::span<uint64_t> allowed) override {
    std::fill(allowed.begin(), allowed.end(), uint64_t{0});
    for (const int32_t id : ids_) allowed[static_cast<size_t>(id) / 64] |= uint64_t{1} << (id % 64);
    return true;
  }
  void accept(TokenId) override { ++n_accepted; }
  std::shared_ptr<TokenConstraint> clone() const override { return std::make_shared<Only>(*this); }
  int n_accepted = 0;

 private:
  std::set<int32_t> ids_;
};

// The allowed tokens, or nullopt if all are.
std::optional<std::set<int32_t>> allowed_by(TokenConstraint& constraint) {
  std::vector<uint64_t> words((kVocab + 63) / 64, 0x5555);
  if (!constraint.allow(words)) return std::nullopt;
  std::set<int32_t> ids;
  for (int32_t id = 0; id < static_cast<int32_t>(kVocab); ++id) {
    if ((words[static_cast<size_t>(id) / 64] >> (id % 64) & 1) != 0) ids.insert(id);
  }
  return ids;
}

std::set<int32_t> all_but(std::initializer_list<int32_t> missing) {
  std::set<int32_t> ids;
  for (int32_t id = 0; id < static_cast<int32_t>(kVocab); ++id) ids.insert(id);
  for (const int32_t id : missing) ids.erase(id);
  return ids;
}

TEST(TokenRules, AreNothingWhereThereAreNone) {
  EXPECT_EQ(with_rules(nullptr, {}, kVocab), nullptr);
  const auto inner = std::make_shared<Only>(std::set<int32_t>{1});
  EXPECT_EQ(with_rules(inner, {}, kVocab), inner);
}

TEST(TokenRules, EndsWaitForTheLeastNumberOfTokens) {
  const auto rules = with_rules(nullptr, {.min_tokens = 2, .ends = {TokenId{0}, TokenId{129}}}, kVocab);
  EXPECT_EQ(allowed_by(*rules), all_but({0, 129}));
  rules->accept(TokenId{5});
  EXPECT_EQ(allowed_by(*rules), all_but({0, 129}));
  rules->accept(TokenId{6});
  EXPECT_EQ(allowed_by(*rules), std::nullopt);
}

TEST(TokenRules, NothingButTheAllowedTokensComes) {
  const auto rules = with_rules(nullptr, {.allowed = {TokenId{3}, TokenId{64}, TokenId{129}}}, kVocab);
  EXPECT_EQ(allowed_by(*rules), (std::set<int32_t>{3, 64, 129}));
}

TEST(TokenRules, ABadWordNeverComesWhole) {
  const std::vector<std::vector<TokenId>> words{
      {TokenId{7}}, {TokenId{1}, TokenId{2}, TokenId{3}}, {TokenId{2}, TokenId{9}}};
  const auto rules = with_rules(nullptr, {.bad_words = words}, kVocab);
  EXPECT_EQ(allowed_by(*rules), all_but({7}));
  rules->accept(TokenId{1});
  EXPECT_EQ(allowed_by(*rules), all_but({7}));
  rules->accept(TokenId{2});
  EXPECT_EQ(allowed_by(*rules), all_but({7, 3, 9}));
  const auto copy = rules->clone();
  rules->accept(TokenId{2});
  EXPECT_EQ(allowed_by(*rules), all_but({7, 9}));
  EXPECT_EQ(allowed_by(*copy), all_but({7, 3, 9}));
}

TEST(TokenRules, HoldBesideAGrammar) {
  const auto inner = std::make_shared<Only>(std::set<int32_t>{3, 4, 7});
  const auto rules = with_rules(inner, {.min_tokens = 1, .ends = {TokenId{4}}, .bad_words = {{TokenId{7}}}}, kVocab);
  EXPECT_EQ(allowed_by(*rules), (std::set<int32_t>{3}));
  const auto copy = rules->clone();
  rules->accept(TokenId{3});
  EXPECT_EQ(inner->n_accepted, 1);
  EXPECT_EQ(allowed_by(*rules), (std::set<int32_t>{3, 4}));
  EXPECT_EQ(allowed_by(*copy), (std::set<int32_t>{3}));
  copy->accept(TokenId{3});
  EXPECT_EQ(inner->n_accepted, 1);
}

}  // namespace
}  // namespace realizar::server
