// --check passes for sound models whose numbers depend on the context, and with every type of cache.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "realizar/engine.h"
#include "support/tiny_model.h"

namespace realizar {
namespace {

// The comparison's report, or the reason of its failure.
Result<std::string> checked(const test::TinyModel& model, CacheType type) {
  const auto path =
      std::filesystem::path(testing::TempDir()) / ("parity_model." + std::to_string(::getpid()) + ".gguf");
  RZ_CHECK_OK(model.writer().write(path));
  const auto loaded = LanguageModel::load(
      path.string(), {.backend = BackendChoice::kCpu, .cpu = {.n_threads = 1}, .cache = {.type = type}, .check = true});
  std::filesystem::remove(path);
  if (!loaded.ok()) return loaded.error();
  return loaded->info().check;
}

TEST(ParityOfModels, IsThatOfTheContextInUse) {
  test::TinyModel model = test::tiny_model(kPhi3);
  model.keys["phi3.rope.scaling.original_context_length"] = 56u;  // of 64, and the compared text has 48
  model.tensors.push_back({"rope_factors_short.weight", Role::kRopeShort, {4}, {1, 1, 2, 2}});
  model.tensors.push_back({"rope_factors_long.weight", Role::kRopeLong, {4}, {2, 4, 8, 16}});
  const auto check = checked(model, CacheType::kF16);
  ASSERT_TRUE(check.ok()) << check.error().message;
  EXPECT_NE(check->find("cpu and reference: logits of 48 tokens"), std::string::npos) << *check;
}

TEST(ParityOfModels, HoldsForEveryTypeOfCache) {
  test::TinyModel model = test::tiny_model(
      kLlama, false,
      {.n_layers = 2, .d_model = 128, .n_heads = 4, .n_kv_heads = 2, .head_dim = 32, .d_ff = 256, .n_vocab = 300});
  model.matrix_type = TypeId::kQ8_0;
  for (const auto& [name, type] : kCacheTypeNames) {
    const auto check = checked(model, type);
    EXPECT_TRUE(check.ok()) << name << ": " << check.error().message;
  }
}

}  // namespace
}  // namespace realizar
