// An engine over a model file on a backend, and requests for it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "backend/backend.h"
#include "base/result_checks.h"
#include "engine/cache_sizes.h"
#include "engine/engine.h"
#include "model/model.h"
#include "realizar/request.h"

namespace realizar::test {

class EngineRig {
 public:
  EngineRig(const ModelFile& file, std::unique_ptr<Backend> backend, const engine::EngineOptions& options)
      : backend_(std::move(backend)) {
    EXPECT_TRUE(backend_->configure(engine::limits_for(options)).ok());
    model_ = std::make_unique<Model>(must(Model::load(file, *backend_, {.n_ctx = options.n_ctx})));
    engine_ = must(engine::Engine::create(*model_, *backend_, {}, options));
  }
  engine::Engine* operator->() { return engine_.get(); }
  engine::Engine& engine() { return *engine_; }
  Backend& backend() { return *backend_; }

 private:
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<engine::Engine> engine_;
};

inline std::vector<TokenId> some_tokens(uint32_t n, uint32_t step, uint32_t n_vocab = 200) {
  std::vector<TokenId> tokens;
  for (uint32_t i = 0; i < n; ++i) tokens.push_back(TokenId{static_cast<int32_t>((3 + i * step) % n_vocab)});
  return tokens;
}

inline Request request_for(std::vector<TokenId> prompt, uint64_t seed) {
  Request request;
  request.prompt = std::move(prompt);
  request.sampling.temperature = 1.2f;
  request.sampling.repeat_penalty = 1.1f;
  request.sampling.seed = seed;
  request.max_tokens = 6;
  return request;
}

// Requests have the same tokens by themselves, together, where one prompt is in chunks, and after a cached prefix.
// `alone` and `together` make rigs with the given options. Returns how many tokens came from the cache.
template <class Alone, class Together>
uint32_t expect_independent_requests(const Alone& alone, const Together& together, uint32_t n_vocab = 200) {
  const std::vector<Request> requests = {request_for(some_tokens(40, 7, n_vocab), 1),
                                         request_for(some_tokens(3, 11, n_vocab), 2),
                                         request_for(some_tokens(35, 7, n_vocab), 3)};
  std::vector<std::vector<TokenId>> expected;
  for (const Request& request : requests) {
    expected.push_back(must(alone({.n_ctx = 64})->generate(request, {})).tokens);
    EXPECT_EQ(expected.back().size(), 6u);
  }
  EngineRig rig = together({.n_ctx = 64, .max_seqs = 3, .max_batch_tokens = 16, .block_tokens = 16});
  const auto generations = must(rig->generate_all(requests));
  for (size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(generations[i].tokens, expected[i]) << "request " << i;
  const auto again = must(rig->generate(requests[0], {}));
  EXPECT_EQ(again.tokens, expected[0]);
  return again.stats.n_cached;
}

// A pool that one request fills, and host memory for evicted blocks.
inline const engine::EngineOptions kSmallPool{
    .n_ctx = 64, .kv_tokens = 64, .block_tokens = 16, .host_kv_bytes = 1 << 20};

// On an engine with that pool: another request evicts a prompt's blocks, and they are restored with the same tokens.
inline void expect_evicted_prefix_back(EngineRig& rig, uint32_t n_vocab = 200) {
  const Request request = request_for(some_tokens(40, 7, n_vocab), 1);
  const auto first = rig->generate(request, {}).value();
  ASSERT_TRUE(rig->generate(request_for(some_tokens(57, 11, n_vocab), 2), {}).ok());
  const auto again = rig->generate(request, {}).value();
  EXPECT_EQ(again.tokens, first.tokens);
  EXPECT_EQ(again.stats.n_cached, 39u);
}

}  // namespace realizar::test
