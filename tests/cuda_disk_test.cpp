// Layers that do not fit into device and host memory, and are read from the disk: they compute the same as resident
// ones, and data that the disk has lost or changed is an error.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "support/cuda_test.h"
#include "support/engine_rig.h"
#include "support/tiny_model.h"

namespace realizar::test {
namespace {

namespace fs = std::filesystem;

constexpr TinyDims kDims{.n_layers = 5, .d_model = 64, .head_dim = 16, .d_ff = 96};

ModelFile model_of(TypeId type) {
  TinyModel model = tiny_model(kLlama, false, kDims);
  model.matrix_type = type;
  return std::move(*model.open());
}

EngineRig rig_on(const CudaUnderTest& cuda, const ModelFile& file, const cuda::CudaOptions& options) {
  return {file, *make_cuda_on(cuda.open, 1, options), {.n_ctx = 64}};
}

// Logits of several steps with prompt and decode rows: layers read from the disk are replaced by later ones, and read
// again.
std::vector<float> logits_on(const CudaUnderTest& cuda, const ModelFile& file, const cuda::CudaOptions& options) {
  const auto logits = rig_on(cuda, file, options)->logits(some_tokens(24, 7, kDims.n_vocab), 20, 6);
  EXPECT_TRUE(logits.ok()) << logits.error().message;
  return logits.ok() ? *logits : std::vector<float>();
}

class CudaDisk : public CudaTest {
 protected:
  // A folder created by the backend.
  std::string folder_ = testing::TempDir() + "realizar-layers-" + std::to_string(::getpid());
  void TearDown() override { fs::remove_all(folder_); }

  // The unnamed files that this process has open there.
  std::vector<int> nameless_files() const {
    std::vector<int> files;
    for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
      std::error_code error;
      const std::string target = fs::read_symlink(entry.path(), error).string();
      const bool is_one = target.starts_with(folder_ + "/") && target.ends_with("(deleted)");
      if (is_one) files.push_back(std::stoi(entry.path().filename()));
    }
    return files;
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, CudaDisk, testing::ValuesIn(cudas_under_test()), name_of);

TEST_P(CudaDisk, StreamedLayersGiveTheSameBits) {
  for (const TypeId type : {TypeId::kF32, TypeId::kQ8_0}) {
    const ModelFile file = model_of(type);
    const auto resident = logits_on(GetParam(), file, {});
    const uint64_t all_bytes = rig_on(GetParam(), file, {}).backend().info().weight_bytes;
    for (const auto& [n_gpu_layers, host_bytes] : {std::pair(0u, uint64_t{0}), std::pair(2u, all_bytes / 3)}) {
      const cuda::CudaOptions options{.n_gpu_layers = n_gpu_layers, .host_bytes = host_bytes, .layer_folder = folder_};
      EXPECT_EQ(logits_on(GetParam(), file, options), resident)
          << n_gpu_layers << " layers stay, " << host_bytes << " bytes of the host are for others";
    }
  }
}

TEST_P(CudaDisk, TheFileHasNoNameAndGoesWithTheModel) {
  const ModelFile file = model_of(TypeId::kF32);
  {
    EngineRig rig = rig_on(GetParam(), file, {.n_gpu_layers = 0, .host_bytes = 0, .layer_folder = folder_});
    const std::string description = rig.backend().info().description;
    EXPECT_NE(description.find(" MB from " + folder_), std::string::npos) << description;
    EXPECT_EQ(nameless_files().size(), 1u);
    EXPECT_TRUE(fs::is_empty(folder_));
  }
  EXPECT_TRUE(nameless_files().empty());
  const EngineRig roomy = rig_on(GetParam(), file, {.n_gpu_layers = 0, .layer_folder = folder_});
  EXPECT_TRUE(nameless_files().empty()) << "none is made where nobody wants it";
}

TEST_P(CudaDisk, WhatTheDiskHasLostOrChangedIsAnErrorAndNoTokens) {
  const ModelFile file = model_of(TypeId::kF32);
  const Request request = request_for(some_tokens(9, 5, kDims.n_vocab), 4);
  const auto error_after = [&](const auto& damage) {
    EngineRig rig = rig_on(GetParam(), file, {.n_gpu_layers = 0, .host_bytes = 0, .layer_folder = folder_});
    EXPECT_TRUE(rig->generate(request, {}).ok());
    for (const int fd : nameless_files()) damage(fd);
    const auto again = rig->generate(request, {});
    return again.ok() ? "tokens" : again.error().message;
  };
  const std::string begin = "layers cannot be read from the folder " + folder_ + ": ";
  EXPECT_EQ(error_after([](int fd) { EXPECT_EQ(::ftruncate(fd, 1000), 0); }), begin + "the file was cut off");
  EXPECT_EQ(error_after([](int fd) {
              char byte = 0;
              EXPECT_EQ(::pread(fd, &byte, 1, 1000), 1);
              byte ^= 1;
              EXPECT_EQ(::pwrite(fd, &byte, 1, 1000), 1);
            }),
            begin + "the file was changed");
}

TEST_P(CudaDisk, LayersWithoutAnyPlaceAreAnErrorThatAllowsForTheCpu) {
  const ModelFile file = model_of(TypeId::kF32);
  for (const std::string folder : {"", "/proc/realizar"}) {
    const auto backend =
        *make_cuda_on(GetParam().open, 1, {.n_gpu_layers = 0, .host_bytes = 0, .layer_folder = folder});
    ASSERT_TRUE(backend->configure({}).ok());
    const auto model = Model::load(file, *backend, {.n_ctx = 64});
    ASSERT_FALSE(model.ok());
    EXPECT_EQ(model.error().code, ErrorCode::kResourceExhausted);
    EXPECT_EQ(model.error().message.rfind("tensor 'blk.0.", 0), 0u) << model.error().message;
    EXPECT_NE(model.error().message.find("' of layer 0: "), std::string::npos) << model.error().message;
    EXPECT_NE(model.error().message.find(folder.empty() ? "no folder" : folder), std::string::npos);
  }
}

}  // namespace
}  // namespace realizar::test
