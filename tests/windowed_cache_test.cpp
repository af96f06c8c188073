// A model whose layers have windows, on every backend: blocks that a window has left are released and reused, without
// changing a bit.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "engine/prefixes.h"
#include "formats/model_file.h"
#include "support/backends_under_test.h"
#include "support/engine_rig.h"
#include "support/moved_pieces.h"
#include "support/saved_text.h"
#include "support/suite_params.h"

namespace realizar::test {
namespace {

constexpr uint32_t kContext = 96, kVocab = 336;

// Two of its three layers have a window of 16 positions.
const ModelFile& windowed_model() {
  static const ModelFile file = std::move(*ModelFile::open(RZ_SOURCE_DIR "/tests/data/conformance/gemma2-hf"));
  return file;
}

class WindowedCache : public testing::TestWithParam<BackendUnderTest> {
 protected:
  void SetUp() override { skip_where_absent(GetParam()); }
  static EngineRig rig_with(engine::EngineOptions options) {
    options.n_ctx = kContext;
    options.max_batch_tokens = 16;
    return {windowed_model(), std::move(*GetParam().make(2)), options};
  }
};

// If a block is as long as the context, none is ever released.
TEST_P(WindowedCache, BlocksThatAreUsedAgainChangeNoBit) {
  EngineRig rig = rig_with({.block_tokens = 16}), whole = rig_with({.block_tokens = kContext});
  EXPECT_EQ(rig->prefixes().blocks().n_groups(), 3u);
  EXPECT_LT(rig->prefixes().blocks().n_blocks(), 3 * kContext / 16)
      << "fewer than all groups would need without windows";
  const auto tokens = some_tokens(90, 7, kVocab);
  KvNumbers kv, expected_kv;
  const auto logits = rig->logits(tokens, 60, 90, &kv).value();
  EXPECT_EQ(logits, whole->logits(tokens, 60, 90, &expected_kv).value());
  EXPECT_EQ(kv.keys, expected_kv.keys);
  EXPECT_EQ(kv.values, expected_kv.values);
  EXPECT_EQ(rig->prefixes().blocks().n_free(), rig->prefixes().blocks().n_blocks());
}

TEST_P(WindowedCache, APrefixIsFoundAgainAndGivesTheSameTokens) {
  for (const uint64_t host_bytes : {uint64_t{0}, uint64_t{1} << 20}) {
    EngineRig rig = rig_with({.block_tokens = 16, .host_kv_bytes = host_bytes});
    const Request request = request_for(some_tokens(72, 7, kVocab), 1);
    const auto first = rig->generate(request, {}).value();
    const auto again = rig->generate(request, {}).value();
    EXPECT_EQ(again.tokens, first.tokens);
    EXPECT_EQ(again.stats.n_cached, 71u);
    ASSERT_TRUE(rig->generate(request_for(some_tokens(90, 11, kVocab), 2), {}).ok());
    const auto later = rig->generate(request, {}).value();
    EXPECT_EQ(later.tokens, first.tokens);
    const bool has_store = host_bytes > 0 && !rig.backend().allocate_host(64).empty();
    if (has_store) {
      EXPECT_EQ(later.stats.n_cached, 71u);
    }
  }
}

TEST_P(WindowedCache, APrefixThatWasSavedHasTheBlocksThatWindowsSee) {
  const std::string path = testing::TempDir() + "windowed_cache_test." + std::to_string(::getpid());
  EngineRig first = rig_with({.block_tokens = 16}), second = rig_with({.block_tokens = 16});
  const Request request = request_for(some_tokens(72, 7, kVocab), 1);
  const auto expected = first->generate(request, {}).value();
  EXPECT_EQ(save_text(first.engine(), path, request.prompt).value(), 72u);
  ASSERT_TRUE(restore_text(second.engine(), path).ok());
  const auto warm = second->generate(request, {}).value();
  EXPECT_EQ(warm.stats.n_cached, 71u);
  EXPECT_EQ(warm.tokens, expected.tokens);
  std::remove(path.c_str());
}

TEST_P(WindowedCache, APrefixThatIsMovedPieceByPieceGivesTheSameTokens) {
  EngineRig first = rig_with({.block_tokens = 16}), second = rig_with({.block_tokens = 16});
  const Request request = request_for(some_tokens(72, 7, kVocab), 1);
  const auto expected = first->generate(request, {}).value();
  EXPECT_EQ(usable_blocks(first.engine(), request.prompt), 4u);
  const uint32_t n_needed = 4 + 1 + 1;  // one block for each window of 16 positions
  EXPECT_EQ(move_pieces(first.engine(), second.engine(), request.prompt, 4), n_needed);
  EXPECT_EQ(usable_blocks(second.engine(), request.prompt), 4u);
  EXPECT_EQ(move_pieces(first.engine(), second.engine(), request.prompt, 4), n_needed) << "what is there stays";
  const auto warm = second->generate(request, {}).value();
  EXPECT_EQ(warm.stats.n_cached, 64u);
  EXPECT_EQ(warm.tokens, expected.tokens);
  EXPECT_TRUE(second->prefixes().blocks().is_consistent());
  EXPECT_EQ(second->prefixes().blocks().n_free(), second->prefixes().blocks().n_blocks());
}

// Sequences that run together have separate windows.
TEST_P(WindowedCache, SequencesThatRunTogetherGiveWhatEachGivesAlone) {
  EngineRig together = rig_with({.max_seqs = 3, .n_draft = 2, .block_tokens = 16});
  std::vector<Request> requests;
  for (uint32_t i = 0; i < 3; ++i) {
    requests.push_back(request_for(some_tokens(20 + 23 * i, 5 + i, kVocab), i));
    requests.back().max_tokens = 24;
  }
  const auto generations = together->generate_all(requests).value();
  for (uint32_t i = 0; i < 3; ++i) {
    EngineRig alone = rig_with({.block_tokens = kContext});
    EXPECT_EQ(generations[i].tokens, alone->generate(requests[i], {}).value().tokens) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, WindowedCache, testing::ValuesIn(backends_under_test()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace realizar::test
