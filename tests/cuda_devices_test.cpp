// A model on several devices gives the same bits as on one, wherever its layers are; and the choice of devices.
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include "api/backend_numbers.h"
#include "backend/cuda/device_choice.h"
#include "base/result_checks.h"
#include "base/temp_folder.h"
#include "engine/cache_sizes.h"
#include "engine/model_drafter.h"
#include "engine/prefixes.h"
#include "server/watch/metrics.h"
#include "support/cuda_test.h"
#include "support/engine_rig.h"
#include "support/made_model.h"
#include "support/test_data.h"
#include "support/thread_orders.h"
#include "support/tiny_model.h"

namespace realizar::test {
namespace {

constexpr TinyDims kDims{.n_layers = 5, .d_model = 64, .head_dim = 16, .d_ff = 64, .expert_d_ff = 32};

uint64_t bytes_of(const ModelFile& file) {
  uint64_t n_bytes = 0;
  for (const TensorInfo& tensor : file.tensors()) n_bytes += tensor.data.size();
  return n_bytes;
}

ModelFile model_of(const ArchSpec& spec, bool with_experts = false) {
  TinyModel model = tiny_model(spec, with_experts, kDims);
  model.matrix_type = TypeId::kQ8_0;
  return std::move(*model.open());
}

struct Places {
  uint32_t n_devices;
  std::optional<uint32_t> n_gpu_layers = {};
  uint64_t memory_bytes = 0;
};

EngineRig rig_on(const CudaUnderTest& cuda, const ModelFile& file, const Places& places,
                 const engine::EngineOptions& options = {.n_ctx = 64}) {
  const cuda::CudaOptions cuda_options{.memory_bytes = places.memory_bytes,
                                       .weight_bytes = bytes_of(file),
                                       .n_layers = kDims.n_layers,
                                       .n_gpu_layers = places.n_gpu_layers};
  return {file, *make_cuda_on(cuda.open, places.n_devices, cuda_options), options};
}

// Logits of a prompt in two chunks, then of decode rows.
std::vector<float> logits_on(const CudaUnderTest& cuda, const ModelFile& file, const Places& places) {
  EngineRig rig = rig_on(cuda, file, places, {.n_ctx = 64, .max_batch_tokens = 16});
  return rig->logits(some_tokens(24, 7, kDims.n_vocab), 20, 6).value();
}

class CudaDevices : public CudaTest {
 protected:
  // On three devices, and alone on one.
  uint32_t expect_the_same_together(const ModelFile& file) const {
    const auto make = [&](uint32_t n_devices) {
      return [&, n_devices](const engine::EngineOptions& options) {
        return rig_on(GetParam(), file, {n_devices}, options);
      };
    };
    return expect_independent_requests(make(1), make(3), kDims.n_vocab);
  }

  // Returns how many tokens came from the file.
  uint32_t expect_saved_prefix_serves_several(const ModelFile& file, uint32_t n_pieces) const {
    const engine::EngineOptions options{.n_ctx = 64, .block_tokens = 16};
    const Request request = request_for(some_tokens(40, 7, kDims.n_vocab), 1);
    const TempFolder folder;
    const std::string path = folder / "prefixes";
    EngineRig one = rig_on(GetParam(), file, {1}, options), several = rig_on(GetParam(), file, {3}, options);
    const auto first = must(one->generate(request, {}));
    must(one->prefixes().save(path, 1, 1 << 20));
    EXPECT_EQ(several->prefixes().load(path, 1), n_pieces) << "pieces";
    const auto again = must(several->generate(request, {}));
    EXPECT_EQ(again.tokens, first.tokens);
    return again.stats.n_cached;
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, CudaDevices, testing::ValuesIn(cudas_under_test()), name_of);

// In these the layers' devices follow from the small memory of an emulated device: on a GPU all would be on the one
// with most room.
class SmallCudaDevices : public CudaDevices {};
INSTANTIATE_TEST_SUITE_P(Devices, SmallCudaDevices, testing::Values(CudaUnderTest{"emulated", open_emulated_cuda}),
                         name_of);

TEST_P(CudaDevices, SeveralGiveTheBitsOfOne) {
  const ModelFile file = model_of(kLlama);
  const auto alone = logits_on(GetParam(), file, {1});
  for (const uint32_t n_devices : {2u, 3u, 7u}) {
    EXPECT_EQ(logits_on(GetParam(), file, {n_devices}), alone) << n_devices << " devices";
  }
}

TEST_P(CudaDevices, SeveralGiveTheBitsOfOneForEveryKindOfLayer) {
  for (const ArchSpec* spec : {&kGemma2, &kPhi2, &kGpt2, &kQwen3Moe}) {
    const ModelFile file = model_of(*spec);
    EXPECT_EQ(logits_on(GetParam(), file, {3}), logits_on(GetParam(), file, {1})) << spec->name;
  }
}

TEST_P(CudaDevices, ATokenDependsOnNothingButTheRequest) {
  EXPECT_GT(expect_the_same_together(model_of(kLlama)), 0u);
}

TEST_P(CudaDevices, StreamedLayersGiveTheSameBits) {
  const ModelFile file = model_of(kLlama);
  const auto alone = logits_on(GetParam(), file, {1});
  for (const uint32_t n_gpu_layers : {0u, 1u, 4u}) {
    EXPECT_EQ(logits_on(GetParam(), file, {2, n_gpu_layers}), alone) << n_gpu_layers << " layers stay";
  }
}

// In F16: no row of the small matrices consists of whole groups of other types.
ModelFile small_model_of(const ArchSpec& spec) {
  TinyModel model = tiny_model(spec, false, kDims);
  model.matrix_type = TypeId::kF16;
  return std::move(*model.open());
}

TEST_P(CudaDevices, LatentsAndStatesHaveTheSameBitsWhereverTheirLayersLie) {
  for (const ArchSpec* spec : {&kDeepseek2, &kMamba2, &kQwen35, &kMamba, &kNemotronH, &kFalconH1, &kRwkv7}) {
    const ModelFile file = small_model_of(*spec);
    const auto alone = logits_on(GetParam(), file, {1});
    for (const Places& places : {Places{3}, Places{2, 0}, Places{2, 3}}) {
      EXPECT_EQ(logits_on(GetParam(), file, places), alone) << spec->name << " on " << places.n_devices << " devices";
    }
  }
}

// A row's data besides its hidden state goes with it from device to device.
TEST_P(CudaDevices, StreamsHaveTheSameBitsWhereverTheirLayersLie) {
  const ModelFile file = small_model_of(kGemma3n);
  const auto alone = logits_on(GetParam(), file, {1});
  for (const Places& places : {Places{3}, Places{2, 0}, Places{2, 3}}) {
    EXPECT_EQ(logits_on(GetParam(), file, places), alone) << places.n_devices << " devices";
  }
  expect_the_same_together(file);
}

// Blocks' parts have different widths, and the last layers attend to keys and values of earlier ones, possibly on other
// devices.
TEST_P(CudaDevices, LayersOfDifferentWidthsHaveTheSameBitsWhereverTheyLie) {
  const auto file = must(open_conformance(source_file("tests/data/conformance"), "gemma4-e2b"));
  const auto alone = logits_on(GetParam(), file, {1});
  for (const Places& places : {Places{3}, Places{2, 0}}) {
    EXPECT_EQ(logits_on(GetParam(), file, places), alone) << places.n_devices << " devices";
  }
  expect_the_same_together(file);
}

TEST_P(CudaDevices, WhatFitsNoDeviceIsStreamed) {
  const ModelFile file = model_of(kLlama);
  const Places small{2, {}, bytes_of(file) / 4};
  EXPECT_NE(rig_on(GetParam(), file, small).backend().info().description.find("streamed"), std::string::npos);
  EXPECT_EQ(logits_on(GetParam(), file, small), logits_on(GetParam(), file, {1}));
}

// The backend's report on itself, and its bits, with this much memory on one device.
struct Placed {
  std::string description;
  std::vector<float> logits;
};
Placed placed(const CudaUnderTest& cuda, const ModelFile& file, uint64_t memory_bytes) {
  EngineRig rig = rig_on(cuda, file, {1, {}, memory_bytes});
  auto logits = rig->logits(some_tokens(24, 7, kDims.n_vocab), 20, 6).value();
  return {rig.backend().info().description, std::move(logits)};
}

TEST_P(SmallCudaDevices, AnEmbeddingLeavesItsRoomToLayersWhereMemoryIsShort) {
  constexpr std::string_view kMoved = "embeddings in the host's memory", kStreamed = "streamed";
  TinyDims dims = kDims;
  dims.n_vocab = 2000;
  for (const bool is_tied : {false, true}) {
    TinyModel model = tiny_model(kLlama, false, dims);
    model.matrix_type = TypeId::kQ8_0;
    if (is_tied) std::erase_if(model.tensors, [](const TinyTensor& t) { return t.role == Role::kHead; });
    const ModelFile file = *model.open();
    const Placed roomy = placed(GetParam(), file, 2 * bytes_of(file));
    EXPECT_EQ(roomy.description.find(kMoved), std::string::npos);
    const Placed tight = placed(GetParam(), file, bytes_of(file) - uint64_t{dims.n_vocab} * dims.d_model / 2);
    EXPECT_EQ(tight.logits, roomy.logits);
    EXPECT_EQ(tight.description.find(kMoved) != std::string::npos, !is_tied) << tight.description;
    EXPECT_EQ(tight.description.find(kStreamed) != std::string::npos, is_tied) << tight.description;
  }
}

// The emulated device has no more memory than it reports.
TEST(CudaEmbedding, TakesNoMemoryOfADeviceThatIsShort) {
  TinyDims dims = kDims;
  dims.n_vocab = 20000;
  const ModelFile file = *tiny_model(kLlama, false, dims).open();
  const uint64_t table_bytes = uint64_t{dims.n_vocab} * dims.d_model * sizeof(float);
  const auto memory_with = [&](std::optional<uint32_t> n_gpu_layers) {
    EmulatedMemory memory;
    const OpenCuda open = [&]() -> Result<std::unique_ptr<cuda::Device>> {
      return make_emulated_cuda_device({.memory = &memory});
    };
    const CudaUnderTest cuda{"emulated", open};
    const EngineRig rig = rig_on(cuda, file, {1, n_gpu_layers});
    return memory;
  };
  const EmulatedMemory all = memory_with({}), none = memory_with(0);
  EXPECT_GE(all.device_bytes, none.device_bytes + table_bytes);
  EXPECT_GE(none.pinned_bytes, all.pinned_bytes + table_bytes);
}

TEST_P(CudaDevices, APrefixComesBackFromTheHostsMemory) {
  const ModelFile file = model_of(kLlama);
  EngineRig rig = rig_on(GetParam(), file, {2}, kSmallPool);
  expect_evicted_prefix_back(rig, kDims.n_vocab);
}

TEST_P(CudaDevices, APrefixOfLatentsComesBackFromTheHostsMemory) {
  const ModelFile file = small_model_of(kDeepseek2);
  EngineRig rig = rig_on(GetParam(), file, {2}, kSmallPool);
  expect_evicted_prefix_back(rig, kDims.n_vocab);
}

TEST_P(CudaDevices, StepsWithLatentsOrStatesAreRecordedOnceAndReplayed) {
  for (const ArchSpec* spec : {&kDeepseek2, &kMamba2, &kQwen35}) {
    const ModelFile file = small_model_of(*spec);
    EngineRig rig = rig_on(GetParam(), file, {1});
    ASSERT_TRUE(rig->generate(request_for(some_tokens(5, 3, kDims.n_vocab), 1), {}).ok());
    const DeviceUse& use = *rig.backend().info().devices.at(0);
    EXPECT_EQ(use.n_captures, 1u) << spec->name;
    EXPECT_EQ(use.n_replays, 5u) << spec->name;
  }
}

// Sequences together, a prompt in chunks, and a text that continues from the state at the end of a block.
TEST_P(CudaDevices, ATokenOfARecurrentModelDependsOnNothingButTheRequest) {
  for (const ArchSpec* spec : {&kMamba2, &kQwen35, &kMamba, &kFalconH1, &kRwkv7}) {
    EXPECT_EQ(expect_the_same_together(small_model_of(*spec)), 32u) << spec->name;
  }
}

// A slot's bytes are the same wherever the layers lie.
TEST_P(CudaDevices, StatesThatOneHasSavedServeSeveral) {
  EXPECT_EQ(expect_saved_prefix_serves_several(small_model_of(kMamba2), 2), 32u);
}

TEST_P(CudaDevices, APrefixThatOneHasSavedServesSeveral) {
  EXPECT_EQ(expect_saved_prefix_serves_several(model_of(kLlama), 3), 39u);
}

TEST_P(CudaDevices, DecodeStepsAreRecordedOnceAndReplayed) {
  const ModelFile file = model_of(kLlama);
  EngineRig rig = rig_on(GetParam(), file, {3});
  ASSERT_TRUE(rig->generate(request_for(some_tokens(5, 3, kDims.n_vocab), 1), {}).ok());
  // A step begins and ends on the first.
  constexpr uint32_t kParts[] = {2, 1, 1};
  for (uint32_t i = 0; i < 3; ++i) {
    const DeviceUse& use = *rig.backend().info().devices.at(i);
    EXPECT_EQ(use.n_captures, kParts[i]) << "device " << i;
    EXPECT_EQ(use.n_replays, 5 * kParts[i]) << "device " << i;
    EXPECT_EQ(use.n_streamed_bytes, 0u) << "device " << i;
  }
}

TEST(CudaMetrics, TellEachDevicesPart) {
  const ModelFile file = model_of(kLlama);
  const OpenCuda open = [n_opened = 0]() mutable -> Result<std::unique_ptr<cuda::Device>> {
    return make_emulated_cuda_device({.name = "emulated:" + std::to_string(n_opened++)});
  };
  EngineRig rig = rig_on({"emulated", open}, file, {2, 1});
  ASSERT_TRUE(rig->generate(request_for(some_tokens(5, 3, kDims.n_vocab), 1), {}).ok());
  const auto devices = rig.backend().info().devices;
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0]->weight_bytes + devices[1]->weight_bytes, rig.backend().info().weight_bytes);
  EXPECT_EQ(devices[0]->kv_bytes + devices[1]->kv_bytes, rig.backend().info().kv_bytes);
  const server::ModelState model{"m", numbers_of(rig.backend()), &rig->counters()};
  const std::string text = prometheus::TextSerializer().Serialize(server::device_metrics({&model, 1}));
  for (const DeviceUse* device : devices) {
    EXPECT_GT(device->weight_bytes, 0u);
    EXPECT_GT(device->kv_bytes, 0u);
    EXPECT_GT(device->n_launches, 0u);
    EXPECT_GT(device->n_streamed_bytes, 0u);
    EXPECT_GT(device->scratch_bytes, 0u);
    EXPECT_GE(device->total_bytes, device->free_bytes);
    const std::string labels = "{model_name=\"m\",device=\"" + device->name + "\"";
    for (const std::string& line :
         {"realizar_device_launches_total" + labels + "} " + std::to_string(device->n_launches) + "\n",
          "realizar_device_graph_failures_total" + labels + "} 0\n",
          "realizar_device_streamed_bytes_total" + labels + "} " + std::to_string(device->n_streamed_bytes) + "\n",
          "realizar_memory_bytes" + labels + ",kind=\"weights\"} " + std::to_string(device->weight_bytes) + "\n",
          "realizar_memory_bytes" + labels + ",kind=\"kv_cache\"} " + std::to_string(device->kv_bytes) + "\n",
          "realizar_memory_bytes" + labels + ",kind=\"scratch\"} " + std::to_string(device->scratch_bytes) + "\n"}) {
      EXPECT_NE(text.find(line), std::string::npos) << line << "is not in\n" << text;
    }
  }
  const std::string both = "device=\"" + devices[0]->name + "," + devices[1]->name + "\"";
  EXPECT_NE(text.find("realizar_step_seconds_count{model_name=\"m\"," + both + "} 6\n"), std::string::npos) << text;
  for (const char* part : {",phase=\"prefill\"} 1\n", ",phase=\"decode\"} 5\n"}) {
    EXPECT_NE(text.find("realizar_backend_steps_total{model_name=\"m\"," + both + part), std::string::npos) << text;
  }
}

TEST_P(CudaDevices, AfterAWarmUpARequestOfAnyLengthRecordsNothing) {
  TinyDims dims = kDims;
  dims.n_layers = 1;
  const ModelFile file = *tiny_model(kLlama, false, dims).open();
  const engine::EngineOptions options{.n_ctx = 600, .max_seqs = 2, .max_batch_tokens = 64};
  EngineRig rig(file, *make_cuda_on(GetParam().open, 1, {}), options);
  const Request request = request_for(some_tokens(5, 3, kDims.n_vocab), 1);
  EngineRig cold(file, *make_cuda_on(GetParam().open, 1, {}), options);
  const auto expected = cold->generate(request, {}).value().tokens;
  ASSERT_TRUE(rig->warm_up().ok());
  const DeviceUse& use = *rig.backend().info().devices.at(0);
  const uint64_t n_captures = use.n_captures;
  EXPECT_GT(n_captures, 0u);
  EXPECT_EQ(rig->generate(request, {}).value().tokens, expected);
  // Its answer begins a third cut of the context, for which a step of one row has another shape.
  ASSERT_TRUE(rig->generate(request_for(some_tokens(510, 7, kDims.n_vocab), 2), {}).ok());
  const std::vector<Request> two = {request, request_for(some_tokens(9, 11, kDims.n_vocab), 3)};
  ASSERT_TRUE(rig->generate_all(two).ok());
  EXPECT_EQ(use.n_captures, n_captures);
}

TEST_P(CudaDevices, ADraftModelTakesItsMemoryAtOnceAndIsWarmedUpToo) {
  TinyDims dims = kDims;
  dims.n_layers = 1;
  const ModelFile file = *tiny_model(kLlama, false, dims).open();
  EngineRig rig(file, *make_cuda_on(GetParam().open, 1, {}), {.n_ctx = 64, .max_seqs = 2, .n_draft = 2});
  const engine::DrafterOptions options{.n_ctx = 64, .max_seqs = 2, .max_rows = 66, .kv_tokens = 128};
  const auto backend = *make_cuda_on(GetParam().open, 1, {});
  ASSERT_TRUE(backend->configure(engine::ModelDrafter::limits_for(options)).ok());
  const Model model = std::move(*Model::load(file, *backend, {.n_ctx = 64}));
  const auto drafter = std::move(*engine::ModelDrafter::create(model, *backend, options));
  rig->set_drafter(drafter.get());
  const size_t scratch_bytes = backend->info().scratch_bytes;
  ASSERT_TRUE(rig->warm_up().ok());
  const DeviceUse& use = *backend->info().devices.at(0);
  const uint64_t n_captures = use.n_captures, n_replays = use.n_replays;
  EXPECT_GT(n_captures, 0u);
  const std::vector<Request> two = {request_for(some_tokens(5, 3, kDims.n_vocab), 1),
                                    request_for(some_tokens(40, 11, kDims.n_vocab), 3)};
  ASSERT_TRUE(rig->generate_all(two).ok());
  EXPECT_GT(use.n_replays, n_replays);
  EXPECT_EQ(use.n_captures, n_captures);
  EXPECT_EQ(backend->info().scratch_bytes, scratch_bytes);
}

TEST_P(CudaDevices, ATraceSaysThatItRecordsNothing) {
  const ModelFile file = model_of(kLlama);
  EngineRig rig = rig_on(GetParam(), file, {1});
  EXPECT_NE(rig.backend().info().trace_note, "");
  rig.backend().set_trace(true);
  ASSERT_TRUE(rig->generate(request_for(some_tokens(5, 3, kDims.n_vocab), 1), {}).ok());
  EXPECT_EQ(rig.backend().info().devices[0]->n_captures, 0u);
  EXPECT_GT(rig.backend().info().devices[0]->n_launches, 0u);
}

TEST_P(CudaDevices, ATraceHasEveryOperation) {
  const ModelFile file = model_of(kLlama);
  std::vector<std::vector<OpTiming>> traces;
  for (const uint32_t n_devices : {1u, 3u}) {
    EngineRig rig = rig_on(GetParam(), file, {n_devices});
    rig.backend().set_trace(true);
    ASSERT_TRUE(rig->logits(some_tokens(4, 7, kDims.n_vocab), 4, 1).ok());
    traces.emplace_back(rig.backend().last_trace().begin(), rig.backend().last_trace().end());
  }
  ASSERT_EQ(traces[0].size(), traces[1].size());
  for (size_t i = 0; i < traces[0].size(); ++i) {
    EXPECT_EQ(traces[0][i].kind, traces[1][i].kind) << i;
    EXPECT_EQ(traces[0][i].bytes, traces[1][i].bytes) << i;
    EXPECT_EQ(traces[0][i].flops, traces[1][i].flops) << i;
  }
}

TEST_P(SmallCudaDevices, TheDescriptionSaysHowManyLayersEachHas) {
  const std::string text = rig_on(GetParam(), model_of(kLlama), {2}).backend().info().description;
  EXPECT_NE(text.find(": 2 layers; "), std::string::npos) << text;
  EXPECT_NE(text.find(": 3 layers)"), std::string::npos) << text;
}

TEST(CudaDevicesTogether, SeveralGiveTheSameInEveryOrderOfThreads) {
  const CudaUnderTest emulated{"emulated", open_emulated_cuda};
  const ModelFile file = model_of(kGemma2), latents = small_model_of(kDeepseek2), states = small_model_of(kMamba2),
                  deltas = small_model_of(kQwen35);
  expect_same_in_all_orders([&] { return logits_on(emulated, file, {3}); });
  expect_same_in_all_orders([&] { return logits_on(emulated, latents, {1}); });
  expect_same_in_all_orders([&] { return logits_on(emulated, states, {1}); });
  expect_same_in_all_orders([&] { return logits_on(emulated, deltas, {1}); });
}

// Devices with this many free bytes each.
Result<std::vector<std::unique_ptr<cuda::Device>>> choose(const std::vector<uint32_t>& named,
                                                          const std::vector<size_t>& free_bytes,
                                                          const cuda::CudaOptions& options) {
  return cuda::choose_devices(named, static_cast<uint32_t>(free_bytes.size()), options, [&](uint32_t idx) {
    Result<std::unique_ptr<cuda::Device>> device = not_found("there is no such GPU", "device");
    if (idx < free_bytes.size() && free_bytes[idx] > 0)
      device = make_emulated_cuda_device({.free_bytes = free_bytes[idx]});
    return device;
  });
}

TEST(DeviceChoice, TakesAsManyAsHoldTheModel) {
  cuda::CudaOptions options{.other_bytes = 10, .kv_bytes = 100, .weight_bytes = 300, .n_layers = 4};
  EXPECT_EQ(choose({}, {410, 500, 500}, options)->size(), 1u);
  EXPECT_EQ(choose({}, {409, 500, 500}, options)->size(), 2u);
  EXPECT_EQ(choose({}, {209, 209, 500}, options)->size(), 3u);
  EXPECT_EQ(choose({}, {110, 110, 110}, options)->size(), 3u);  // the rest is streamed
  options.memory_bytes = 210;
  EXPECT_EQ(choose({}, {1000, 1000, 1000}, options)->size(), 2u);
}

TEST(DeviceChoice, PassesOverWhatCannotBeUsed) {
  const auto devices = choose({}, {200, 0, 300}, {.weight_bytes = 400, .n_layers = 4}).value();
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[1]->free_bytes(), 300u);
}

TEST(DeviceChoice, WhoSaysHowManyLayersStayHasTheOthersStreamed) {
  EXPECT_EQ(choose({}, {100, 500}, {.weight_bytes = 300, .n_layers = 4, .n_gpu_layers = 1})->size(), 1u);
}

TEST(DeviceChoice, TakesThoseThatAreNamedInTheirOrder) {
  const auto devices = choose({2, 0}, {100, 200, 300}, {}).value();
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0]->free_bytes(), 300u);
  EXPECT_EQ(devices[1]->free_bytes(), 100u);
}

TEST(DeviceChoice, RefusesTheSameOneTwiceAndOneThatIsNotThere) {
  EXPECT_EQ(choose({1, 1}, {100, 100}, {}).error().message, "device: expected each GPU once, actual 1 twice");
  EXPECT_EQ(choose({0, 5}, {100, 100}, {}).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace realizar::test
