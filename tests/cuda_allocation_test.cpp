// A replayed decode step allocates nothing on the host: operator new is counted over 20 steps.
#include <gtest/gtest.h>

#include "support/counted_new.h"
#include "support/emulated_cuda.h"
#include "support/engine_rig.h"
#include "support/test_data.h"

namespace realizar::test {
namespace {

long allocations_while_decoding(const CudaUnderTest& cuda, Request request) {
  const auto file = ModelFile::open(source_file("tests/data/conformance/llama-Q4_K_S.gguf"));
  if (!file.ok()) throw std::runtime_error(file.error().message);
  EngineRig rig(*file, *make_cuda_on(cuda.open, 1, {}), {.n_ctx = 128});
  request.prompt = some_tokens(9, 5);
  request.max_tokens = 30;
  request.ignore_eos = true;
  long at_5 = 0, at_25 = 0;
  const auto generation = rig->generate(request, [&](const TokenEvent& event) {
    if (event.index == 5) at_5 = n_allocations();
    if (event.index == 25) at_25 = n_allocations();
    return true;
  });
  EXPECT_TRUE(generation.ok());
  EXPECT_GT(at_5, 0);
  EXPECT_GT(rig.backend().info().devices.at(0)->n_replays + rig.backend().info().devices.at(0)->n_graph_failures, 0u);
  return at_25 - at_5;
}

const CudaUnderTest kSound{"emulated", open_emulated_cuda};

TEST(CudaAllocation, GreedyDecodingAllocatesNothing) {
  Request request;
  request.sampling.temperature = 0;
  EXPECT_EQ(allocations_while_decoding(kSound, request), 0);
}

// A model allocates all its device memory when it is loaded, and reports the amount.
TEST(CudaAllocation, StepsOfAnyLengthTakeNoMemoryOfTheDevice) {
  EmulatedMemory memory;
  const CudaUnderTest cuda{"emulated", [&] { return make_emulated_cuda_device({.memory = &memory}); }};
  const auto file = ModelFile::open(source_file("tests/data/conformance/llama-Q4_K_S.gguf"));
  ASSERT_TRUE(file.ok());
  EngineRig rig(*file, *make_cuda_on(cuda.open, 1, {}), {.n_ctx = 600, .max_seqs = 2});
  const size_t n_at_load = memory.device_bytes, n_scratch = rig.backend().info().scratch_bytes;
  EXPECT_GE(n_at_load, rig.backend().info().weight_bytes + rig.backend().info().kv_bytes + n_scratch);
  for (const uint32_t n_prompt : {1u, 530u}) {
    ASSERT_TRUE(rig->generate(request_for(some_tokens(n_prompt, 7), 1), {}).ok());
  }
  const std::vector<Request> two = {request_for(some_tokens(3, 5), 1), request_for(some_tokens(9, 11), 2)};
  ASSERT_TRUE(rig->generate_all(two).ok());
  EXPECT_EQ(memory.device_bytes, n_at_load);
  EXPECT_EQ(rig.backend().info().scratch_bytes, n_scratch);
}

TEST(CudaAllocation, DrawingWithPenaltiesAllocatesNothing) {
  EXPECT_EQ(allocations_while_decoding(kSound, request_for({}, 1)), 0);
}

TEST(CudaAllocation, StepsThatCannotBeRecordedAllocateNothing) {
  const CudaUnderTest cuda{"emulated",
                           [] { return make_emulated_cuda_device({.capture_fault = CaptureFault::kAtEnd}); }};
  EXPECT_EQ(allocations_while_decoding(cuda, request_for({}, 1)), 0);
}

}  // namespace
}  // namespace realizar::test
