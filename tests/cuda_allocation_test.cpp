// A decode step that is replayed allocates nothing on the host: operator new is counted over 20 steps.
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
  EXPECT_GT(rig.backend().devices().at(0)->n_replays + rig.backend().devices().at(0)->n_graph_failures, 0u);
  return at_25 - at_5;
}

const CudaUnderTest kSound{"emulated", open_emulated_cuda};

TEST(CudaAllocation, GreedyDecodingAllocatesNothing) {
  Request request;
  request.sampling.temperature = 0;
  EXPECT_EQ(allocations_while_decoding(kSound, request), 0);
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
