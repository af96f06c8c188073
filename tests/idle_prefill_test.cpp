// On backends whose prefill has a different arithmetic, an idle engine makes an answer part of the next turn's prefix,
// and the next turn gives the same bits as without that.
#include <gtest/gtest.h>

#include <stdexcept>

#include "support/cuda_test.h"
#include "support/emulated_amx_backend.h"
#include "support/engine_rig.h"
#include "support/test_data.h"

namespace realizar::test {
namespace {

struct Device {
  const char* name;
  Result<std::unique_ptr<Backend>> (*make)();
};

void PrintTo(const Device& device, std::ostream* out) {
  *out << device.name;
}

const Device kDevices[] = {
    {"amx", [] { return cpu::make_cpu_backend({.n_threads = 2, .isa = cpu::CpuIsa::kAmx}); }},
    {"emulated_amx", [] { return make_emulated_amx(2); }},
    {"cuda_emulated", [] { return make_emulated_cuda(1); }},
    {"cuda_gpu", [] { return make_cuda(1); }},
};

// A token and its log-probability.
struct Told {
  TokenId id;
  float logprob;
  bool operator==(const Told&) const = default;
};

struct Answer {
  std::vector<Told> tokens;
  uint32_t n_cached = 0;
};

class IdlePrefill : public testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    const auto backend = GetParam().make();
    if (!backend.ok()) GTEST_SKIP() << backend.error().message;
    ASSERT_FALSE((*backend)->info().decode_matches_prefill);
  }
  static EngineRig make_rig(const engine::EngineOptions& options) {
    auto file = ModelFile::open(source_file("tests/data/conformance/llama-Q4_K_S.gguf"));
    if (!file.ok()) throw std::runtime_error(file.error().message);
    return {*file, *GetParam().make(), options};
  }
  static Answer ask(EngineRig& rig, Request request) {
    request.logprobs = true;
    Answer answer;
    const auto generation = rig->generate(request, [&](const TokenEvent& event) {
      answer.tokens.push_back({event.id, event.logprob.value()});
      return true;
    });
    answer.n_cached = generation.value().stats.n_cached;
    return answer;
  }
};

INSTANTIATE_TEST_SUITE_P(Devices, IdlePrefill, testing::ValuesIn(kDevices),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST_P(IdlePrefill, GivesTheNextTurnTheBitsThatItGivesWithout) {
  Request first = request_for(some_tokens(20, 7), 3);
  first.max_tokens = 25;
  for (const uint32_t max_batch_tokens : {7u, 64u}) {
    const engine::EngineOptions options{.n_ctx = 128, .max_batch_tokens = max_batch_tokens, .block_tokens = 16};
    EngineRig rig = make_rig(options);
    Request second = request_for(first.prompt, 4);
    for (const Told& told : ask(rig, first).tokens) second.prompt.push_back(told.id);
    second.prompt.push_back(TokenId{5});
    while (rig->has_idle_work()) ASSERT_TRUE(rig->idle_step().ok());
    const Answer warm = ask(rig, second);
    EXPECT_EQ(warm.n_cached, 45u);
    EngineRig fresh = make_rig(options);
    const Answer cold = ask(fresh, second);
    EXPECT_EQ(cold.n_cached, 0u);
    EXPECT_EQ(warm.tokens, cold.tokens);
  }
}

}  // namespace
}  // namespace realizar::test
