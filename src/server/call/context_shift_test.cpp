#include "server/call/choice.h"

#include <gtest/gtest.h>

#include <numeric>

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

}  // namespace
}  // namespace realizar::server
