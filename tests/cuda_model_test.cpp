// Whole models on the CUDA backend, run by the emulator: the engine's promises hold there, and streamed layers compute
// the same as resident ones.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "backend/program.h"
#include "realizar/request.h"
#include "support/cuda_test.h"
#include "support/engine_rig.h"
#include "support/test_data.h"

namespace realizar::test {
namespace {

const std::string kQuantized = source_file("tests/data/conformance/llama-Q4_K_S.gguf");

struct Rig : EngineRig {
  explicit Rig(const CudaUnderTest& cuda, const std::string& path, const cuda::CudaOptions& cuda_options = {},
               const engine::EngineOptions& options = {.n_ctx = 128})
      : EngineRig(must(ModelFile::open(path)), *make_cuda_on(cuda.open, 1, cuda_options), options) {}
};

std::vector<float> logits_with(const CudaUnderTest& cuda, const cuda::CudaOptions& options) {
  return Rig(cuda, kQuantized, options)->logits(some_tokens(20, 7), 17, 4).value();
}

class CudaModel : public CudaTest {};
INSTANTIATE_TEST_SUITE_P(Devices, CudaModel, testing::ValuesIn(cudas_under_test()), name_of);

TEST_P(CudaModel, StreamedLayersGiveTheSameBits) {
  const auto resident = logits_with(GetParam(), {});
  for (const uint32_t n_gpu_layers : {0u, 1u}) {
    EXPECT_EQ(logits_with(GetParam(), {.n_gpu_layers = n_gpu_layers}), resident) << n_gpu_layers << " layers stay";
  }
}

TEST_P(CudaModel, WhatDoesNotFitTheMemoryIsStreamed) {
  const cuda::CudaOptions small{.memory_bytes = Rig(GetParam(), kQuantized).backend().info().weight_bytes - 1};
  EXPECT_NE(Rig(GetParam(), kQuantized, small).backend().info().description.find("streamed"), std::string::npos);
  EXPECT_EQ(logits_with(GetParam(), small), logits_with(GetParam(), {}));
}

TEST_P(CudaModel, ATokenIsTheSameWhoeverChoosesIt) {
  Rig rig(GetParam(), kQuantized);
  Request request = request_for(some_tokens(9, 5), 4);
  const auto by_device = rig->generate(request, {}).value().tokens;
  request.logprobs = true;  // which the engine computes, from the logits
  EXPECT_EQ(rig->generate(request, {}).value().tokens, by_device);
}

TEST_P(CudaModel, ATokenIsTheSameWhereTheHostChoosesAll) {
  Request request = request_for(some_tokens(9, 5), 4);
  request.max_tokens = 60;
  for (const float temperature : {0.0f, 1.2f}) {
    request.sampling.temperature = temperature;
    Rig device(GetParam(), kQuantized), host(GetParam(), kQuantized, {}, {.n_ctx = 128, .choose_on_host = true});
    EXPECT_EQ(host->generate(request, {}).value().tokens, device->generate(request, {}).value().tokens);
    EXPECT_FALSE(device.backend().chosen().empty());
    EXPECT_TRUE(host.backend().chosen().empty());
  }
}

TEST_P(CudaModel, LeavesTheTokenToTheHostWhereASamplerIsNotItsOwn) {
  const auto change = [](auto set) {
    SamplingParams params;
    set(params);
    return params;
  };
  for (const SamplingParams& params :
       {change([](auto& p) { p.mirostat = 2; }), change([](auto& p) { p.mirostat = 1; }),
        change([](auto& p) { p.dry_multiplier = 2; }), change([](auto& p) { p.xtc_probability = 0.5f; }),
        change([](auto& p) { p.top_n_sigma = 1; }), change([](auto& p) { p.dynatemp_range = 0.5f; }),
        change([](auto& p) { p.samplers = {{SamplerKind::kTopP}}; })}) {
    Request request = request_for(some_tokens(9, 5), 4);
    request.sampling = params;
    request.max_tokens = 20;
    Rig device(GetParam(), kQuantized), host(GetParam(), kQuantized, {}, {.n_ctx = 128, .choose_on_host = true});
    EXPECT_EQ(host->generate(request, {}).value().tokens, device->generate(request, {}).value().tokens);
    EXPECT_TRUE(device.backend().chosen().empty());
  }
}

TEST_P(CudaModel, SaysWhatItCannotRunByName) {
  const auto backend = this->backend();
  struct Numbers {
    uint32_t head_dim = 512, n_experts = 512, n_used = 32;
  };
  const auto check = [&](const Numbers& numbers) {
    Program program;
    program.add(RopeStoreOp{.q = kNoAct,
                            .k = kNoAct,
                            .v = kNoAct,
                            .layer = 0,
                            .n_heads = 8,
                            .n_kv_heads = 8,
                            .head_dim = numbers.head_dim});
    program.add(RouteOp{kNoAct, kNoAct, kNoAct, numbers.n_experts, numbers.n_used, true});
    return backend->check(program);
  };
  EXPECT_TRUE(check({}).ok());
  const auto refused = [&](const Numbers& numbers) {
    const Status status = check(numbers);
    return status.ok() ? Error{ErrorCode::kInternal, "accepted", ""} : status.error();
  };
  const Numbers wide{.head_dim = 513}, many{.n_experts = 513}, used{.n_used = 33};
  EXPECT_EQ(refused(wide).message,
            "the cuda backend runs models of at most 512 dimensions per head, and this one has 513");
  EXPECT_EQ(refused(wide).code, ErrorCode::kUnsupported);
  EXPECT_EQ(refused(many).subject, "n_experts");
  EXPECT_EQ(refused(used).subject, "n_experts_used");
}

TEST_P(CudaModel, ATokenDependsOnNothingButTheRequest) {
  const auto make = [](const engine::EngineOptions& options) { return Rig(GetParam(), kQuantized, {}, options); };
  EXPECT_GT(expect_independent_requests(make, make), 0u);
}

TEST_P(CudaModel, APrefixComesBackFromTheHostsMemory) {
  Rig rig(GetParam(), kQuantized, {}, kSmallPool);
  expect_evicted_prefix_back(rig);
  EXPECT_EQ(rig->counters().n_restored_blocks, 3u);
}

TEST_P(CudaModel, DecodeStepsAreRecordedOnceAndReplayed) {
  Rig rig(GetParam(), kQuantized);
  ASSERT_TRUE(rig->generate(request_for(some_tokens(5, 3), 1), {}).ok());
  const DeviceUse& use = *rig.backend().info().devices.at(0);
  EXPECT_EQ(use.n_captures, 1u);
  EXPECT_EQ(use.n_replays, 5u);
}

TEST(CudaGraphs, AStepWhoseRecordingFailsIsLaunchedOneByOne) {
  const Request request = request_for(some_tokens(5, 3), 1);
  const CudaUnderTest sound{"emulated", open_emulated_cuda};
  const auto expected = Rig(sound, kQuantized)->generate(request, {}).value().tokens;
  for (const CaptureFault fault : {CaptureFault::kAtBegin, CaptureFault::kAtEnd}) {
    const CudaUnderTest cuda{"emulated", [fault] { return make_emulated_cuda_device({.capture_fault = fault}); }};
    Rig rig(cuda, kQuantized);
    const DeviceUse& use = *rig.backend().info().devices.at(0);
    EXPECT_EQ(rig->generate(request, {}).value().tokens, expected);
    EXPECT_EQ(use.n_captures, 0u);
    EXPECT_EQ(use.n_replays, 0u);
    // The shape is remembered: none of its later steps tries again.
    EXPECT_EQ(use.n_graph_failures, 1u);
    const uint64_t n_launches = use.n_launches;
    EXPECT_EQ(rig->generate(request, {}).value().tokens, expected);
    EXPECT_EQ(use.n_graph_failures, 1u);
    EXPECT_GT(use.n_launches, n_launches);
  }
}

// The error of a step of the whole model whose launch fails after `n_before` others.
std::string said_of_failure(LaunchFault fault, uint32_t n_before) {
  const auto open = [=] { return make_emulated_cuda_device({.launch_fault = fault, .failing_launch = n_before}); };
  Rig rig({"emulated", open}, kQuantized);
  const auto failed = rig->generate(request_for(some_tokens(5, 3), 1), {});
  return failed.ok() ? "nothing" : failed.error().message;
}

TEST(CudaFailures, AFailedStepNamesItsOperationAndLayer) {
  const std::string end = ": the emulated device runs no more";
  EXPECT_EQ(said_of_failure(LaunchFault::kRefused, 0), "embed" + end);
  EXPECT_EQ(said_of_failure(LaunchFault::kRefused, 1), "layer 0 norm.attn" + end);
  EXPECT_EQ(said_of_failure(LaunchFault::kTold, 1), "layer 0 norm.attn or an operation before it" + end);
  // The launches of a prompt's step; then those that record a decode step, which are launched again if one fails; then
  // the recorded step.
  std::set<std::string> names;
  std::string said;
  for (uint32_t n = 0; !said.starts_with("a recorded step"); ++n) {
    said = said_of_failure(LaunchFault::kRefused, n);
    ASSERT_TRUE(said.ends_with(end)) << said;
    names.insert(said);
  }
  EXPECT_EQ(said, "a recorded step up to choose" + end);
  for (const char* name : {"layer 0 linear.qkv", "layer 0 attention", "layer 0 linear.down", "linear.head", "choose"}) {
    EXPECT_TRUE(names.contains(name + end)) << name;
  }
  const std::string at_wait = said_of_failure(LaunchFault::kAtWait, 3);
  EXPECT_TRUE(at_wait.starts_with("an operation of layers 0 to 0, or ")) << at_wait;
  EXPECT_NE(at_wait.find("CUDA_LAUNCH_BLOCKING=1"), std::string::npos);
}

}  // namespace
}  // namespace realizar::test
