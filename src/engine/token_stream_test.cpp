#include "engine/token_stream.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <vector>

namespace realizar::engine {
namespace {

Request request_for(size_t n_prompt, std::optional<uint32_t> max_tokens) {
  Request request;
  request.prompt.assign(n_prompt, TokenId{5});
  request.max_tokens = max_tokens;
  return request;
}

uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t n_pages = 0, n_resident = 0;
  statm >> n_pages >> n_resident;
  return n_resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// Writes tokens until the stream is full, and returns how many fit.
uint32_t fill(TokenStream& stream, uint32_t n_most) {
  uint32_t n_taken = 0;
  while (n_taken < n_most && stream.on_token({TokenId{5}, n_taken, std::nullopt, {}, false, 0})) ++n_taken;
  return n_taken;
}

TEST(TokenStream, ItsCapacityForAllTokensIsWhatTheRequestAndTheContextLeave) {
  struct Case {
    size_t n_prompt;
    std::optional<uint32_t> max_tokens;
    uint32_t n_tokens;
  };
  for (const Case& c : {Case{10, std::nullopt, 54}, Case{10, 8, 8}, Case{60, 8, 4}, Case{64, std::nullopt, 1},
                        Case{10, 0, 0}, Case{70, std::nullopt, 1}, Case{1, 4294967295u, 63}}) {
    const Request request = request_for(c.n_prompt, c.max_tokens);
    TokenStream stream(request, capacity_for_all(request, 64));
    EXPECT_EQ(fill(stream, 100), c.n_tokens) << c.n_prompt << " tokens of prompt";
  }
}

TEST(TokenStream, ARequestForAVectorHasRoomForNoTokens) {
  Request request;
  request.prompt = std::vector<TokenId>(10);
  request.pooling = Pooling::kMean;
  EXPECT_EQ(capacity_for_all(request, 64), 1u);
}

TEST(TokenStream, KeepsWhatATokenHasUntilItIsRead) {
  Request request = request_for(1, 3);
  request.n_logprobs = 2;
  TokenStream stream(request, capacity_for_all(request, 64));
  const std::vector<TokenLogprob> top{{TokenId{7}, -0.5f}, {TokenId{8}, -1.5f}};
  EXPECT_TRUE(stream.on_token({TokenId{7}, 0, -0.5f, top, false, 2.0}));
  EXPECT_TRUE(stream.on_token({TokenId{9}, 1, std::nullopt, {}, false, 3.0}));
  const auto first = stream.pop();
  ASSERT_TRUE(first && first->logprob);
  EXPECT_EQ(*first->logprob, -0.5f);
  ASSERT_EQ(first->top.size(), 2u);
  EXPECT_EQ(first->top[1].id, TokenId{8});
  const auto second = stream.pop();
  ASSERT_TRUE(second);
  EXPECT_FALSE(second->logprob);
  EXPECT_TRUE(second->top.empty());
  EXPECT_FALSE(stream.pop());
}

TEST(TokenStream, OnlyAClientThatTakesNoMoreCountsTheTokensThatWait) {
  TokenStream stream(request_for(1, 1000), 1001);
  EXPECT_EQ(fill(stream, 300), 300u) << "the reader is late";
  stream.set_blocked(true);
  EXPECT_EQ(fill(stream, 1), 0u);
  stream.set_blocked(false);
  EXPECT_EQ(fill(stream, 1), 1u);
  while (stream.pop()) {
  }
  stream.set_blocked(true);
  EXPECT_EQ(fill(stream, 300), 127u);
}

// A full queue of requests with a long context.
TEST(TokenStream, UsesNoMemoryForTokensThatNeverCome) {
  constexpr uint32_t kContext = 1 << 17;
  const uint64_t n_before = resident_bytes();
  std::vector<std::unique_ptr<TokenStream>> streams;
  for (int i = 0; i < 256; ++i) {
    Request request = request_for(1, std::nullopt);
    request.n_logprobs = 4;
    const uint32_t capacity = capacity_for_all(request, kContext);
    streams.push_back(std::make_unique<TokenStream>(std::move(request), capacity));
    EXPECT_EQ(fill(*streams.back(), 10), 10u);
  }
  const uint64_t n_all = uint64_t{256} * kContext * (32 + 4 * sizeof(TokenLogprob));  // 2 GiB
  EXPECT_LT(resident_bytes() - n_before, n_all / 4);
}

}  // namespace
}  // namespace realizar::engine
