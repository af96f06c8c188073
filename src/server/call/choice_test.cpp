#include "server/call/choice.h"

#include <gtest/gtest.h>

#include <string_view>

namespace realizar::server {
namespace {

std::vector<TokenId> ids(int32_t first, int32_t n) {
  std::vector<TokenId> all;
  for (int32_t i = 0; i < n; ++i) all.push_back(TokenId{first + i});
  return all;
}

Request asked(std::vector<TokenId> prompt) {
  Request request;
  request.prompt = std::move(prompt);
  request.sampling.seed = 7;
  return request;
}

TEST(ContextShift, KeepsThePromptsBeginningAndTheNewerHalfOfTheRest) {
  const ContextShift shift{.n_ctx = 20, .n_keep = 4, .max_tokens = 100};
  EXPECT_EQ(first_limit(shift, 12), 8u);
  const Request next = shifted_request(asked(ids(0, 12)), ids(100, 8), 8, shift);
  std::vector<TokenId> expected = ids(0, 4);
  for (const TokenId id : ids(100, 8)) expected.push_back(id);
  EXPECT_EQ(next.prompt, expected);
  EXPECT_EQ(next.max_tokens, 8u);
  EXPECT_NE(next.sampling.seed, 7u);
}

TEST(ContextShift, EndsAtTheLimitOfTheWholeAnswer) {
  const ContextShift shift{.n_ctx = 20, .n_keep = 4, .max_tokens = 11};
  EXPECT_EQ(first_limit(shift, 12), 8u);
  EXPECT_EQ(shifted_request(asked(ids(0, 12)), ids(100, 8), 8, shift).max_tokens, 3u);
  EXPECT_EQ(first_limit({.n_ctx = 20, .n_keep = 4, .max_tokens = 5}, 12), 5u);
}

TEST(ContextShift, LeavesRoomWhateverIsToBeKept) {
  for (const uint32_t n_ctx : {2u, 3u, 16u, 17u}) {
    for (const uint32_t n_keep : {0u, 1u, 15u, UINT32_MAX}) {
      const ContextShift shift{.n_ctx = n_ctx, .n_keep = n_keep, .max_tokens = 1000};
      Request request = asked(ids(0, static_cast<int32_t>(n_ctx) - 1));
      std::vector<TokenId> tokens = ids(500, 1);
      for (uint32_t n_generated = 1; n_generated < 50; n_generated += static_cast<uint32_t>(tokens.size())) {
        request = shifted_request(request, tokens, n_generated, shift);
        ASSERT_FALSE(request.prompt.empty());
        ASSERT_LT(request.prompt.size(), n_ctx);
        ASSERT_GT(*request.max_tokens, 0u);
        ASSERT_LE(request.prompt.size() + *request.max_tokens, n_ctx);
        tokens = ids(600, static_cast<int32_t>(*request.max_tokens));
      }
    }
  }
}

// The text that remains when it arrives in pieces of `n_bytes`.
std::string left_of(std::string_view text, LineRules rules, size_t n_bytes) {
  LineWatch watch(rules);
  std::string left;
  for (size_t i = 0; i < text.size(); i += n_bytes) left += watch.take(std::string(text.substr(i, n_bytes)));
  return left + watch.finish();
}

TEST(LineWatch, EndsAtALineWithTooLittleIndentation) {
  constexpr std::string_view kCode = "a {\n  b;\n \tc;\n d;\n  e";
  for (const size_t n_bytes : {1u, 2u, 3u, 100u}) {
    EXPECT_EQ(left_of(kCode, {.n_indent = 0}, n_bytes), kCode) << n_bytes;
    EXPECT_EQ(left_of(kCode, {.n_indent = 1}, n_bytes), kCode) << n_bytes;
    EXPECT_EQ(left_of(kCode, {.n_indent = 2}, n_bytes), "a {\n  b;\n \tc;") << n_bytes;
    EXPECT_EQ(left_of(kCode, {.n_indent = 3}, n_bytes), "a {") << n_bytes;
    EXPECT_EQ(left_of("a\n\n  b", {.n_indent = 2}, n_bytes), "a") << n_bytes;
    EXPECT_EQ(left_of("a\n ", {.n_indent = 2}, n_bytes), "a\n ") << "a line that has not begun yet";
  }
}

TEST(LineWatch, EndsLateAnswersOnceALineIsComplete) {
  LineWatch watch({.max_ms = 10});
  watch.note_time(11);
  EXPECT_FALSE(watch.is_over()) << "the first line is never cut";
  EXPECT_EQ(watch.take("a\nb"), "a\nb");
  watch.note_time(10);
  EXPECT_FALSE(watch.is_over());
  watch.note_time(10.5);
  EXPECT_TRUE(watch.is_over());
  EXPECT_EQ(watch.take("c"), "");
  EXPECT_EQ(watch.finish(), "");
}

}  // namespace
}  // namespace realizar::server
