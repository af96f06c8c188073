#include "api/loaded_model.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace realizar {
namespace {

constexpr const char* kHashedModel = RZ_SOURCE_DIR "/models/realizar-tiny/realizar-tiny-Q8_0.gguf";

// A copy of the model that can be edited in place.
class SourceHash : public ::testing::Test {
 protected:
  SourceHash() { std::filesystem::copy_file(kHashedModel, path_, std::filesystem::copy_options::overwrite_existing); }
  ~SourceHash() override { std::filesystem::remove(path_); }

  std::unique_ptr<LoadedModel> load(bool hash_weights = true) const {
    LoadOptions options;
    options.hash_weights = hash_weights;
    options.n_ctx = 64;
    return std::move(*LoadedModel::load(path_, options));
  }
  void flip_byte(size_t at) const {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(byte ^ 1));
  }
  // Offset of a tensor's data in the file.
  static size_t offset_of(const LoadedModel& model, const TensorInfo& tensor) {
    const TensorInfo& last = model.file.tensors().back();
    return model.file.file_bytes() - static_cast<size_t>(last.data.data() + last.data.size() - tensor.data.data());
  }

  std::string path_ = testing::TempDir() + "realizar-source-hash-" + std::to_string(::getpid()) + ".gguf";
};

TEST_F(SourceHash, IsThatOfTheSameFileAndOnlyTakenWhereItIsAskedFor) {
  EXPECT_EQ(load()->source_hash(), load()->source_hash());
  EXPECT_TRUE(load()->source_hash().has_value());
  EXPECT_FALSE(load(false)->source_hash().has_value());
}

TEST_F(SourceHash, ChangesWithAByteOfAnyTensor) {
  const auto first = load();
  const auto tensors = first->file.tensors();
  for (size_t i = 0; i < tensors.size(); i += 5) {
    const size_t middle = offset_of(*first, tensors[i]) + tensors[i].data.size() / 2;
    flip_byte(middle);
    EXPECT_NE(load()->source_hash(), first->source_hash()) << tensors[i].name;
    flip_byte(middle);
  }
  EXPECT_EQ(load()->source_hash(), first->source_hash()) << "all bytes are back";
}

TEST_F(SourceHash, StaysThatOfWhatWasLoadedWhenTheFileChanges) {
  const auto model = load();
  const auto before = model->source_hash();
  flip_byte(offset_of(*model, model->file.tensors()[3]) + 1000);
  EXPECT_EQ(model->source_hash(), before);
  EXPECT_NE(load()->source_hash(), before);
}

}  // namespace
}  // namespace realizar
