#include "api/memory_needs.h"

#include <gtest/gtest.h>

#include "base/result_checks.h"
#include "model/config_reader.h"
#include "realizar/engine.h"

namespace realizar {
namespace {

TEST(MemoryNeeds, TheCacheIsCountedAsTheEngineMakesIt) {
  const std::string path = RZ_SOURCE_DIR "/models/realizar-tiny/realizar-tiny-Q8_0.gguf";
  const auto file = must(ModelFile::open(path));
  for (const CacheType type : {CacheType::kF32, CacheType::kF16, CacheType::kQ8_0}) {
    for (const uint32_t n_ctx : {32u, 33u, 500u}) {
      const auto model = must(LanguageModel::load(
          path, {.backend = BackendChoice::kCpu, .n_ctx = n_ctx, .cpu = {.n_threads = 1}, .cache = {.type = type}}));
      engine::EngineOptions options;
      options.n_ctx = options.kv_tokens = n_ctx;
      options.kv_type = static_cast<KvType>(type);
      EXPECT_EQ(kv_bytes(*read_config(file, {.n_ctx = n_ctx}), options), model.info().kv_bytes)
          << option_name(type) << ", " << n_ctx << " tokens";
    }
  }
}

TEST(MemoryNeeds, ACacheHoldsAsManyContextsAsThereIsMemoryForAndOneAtLeast) {
  const auto file = must(ModelFile::open(RZ_SOURCE_DIR "/models/realizar-tiny/realizar-tiny-Q8_0.gguf"));
  const ModelConfig config = *read_config(file, {.n_ctx = 100});
  engine::EngineOptions options;
  options.n_ctx = 100;
  const auto host_bytes = [&](uint32_t n_contexts) {
    options.kv_tokens = n_contexts * 128;  // whole blocks
    return host_cache_bytes(config, options, true);
  };
  const auto fitted = [&](uint32_t n_contexts, uint64_t n_bytes) {
    options.kv_tokens = n_contexts * 128;
    fit_contexts(config, n_bytes, options);
    return options.kv_tokens / 128;
  };
  const uint64_t of_one = host_bytes(1), of_three = host_bytes(3), of_twelve = host_bytes(12);
  EXPECT_GT(of_one, kv_bytes(config, options) / 12);
  EXPECT_EQ(fitted(12, of_twelve), 12u);
  EXPECT_EQ(fitted(12, of_twelve - 1), 6u);
  EXPECT_EQ(fitted(12, of_three), 3u);
  EXPECT_EQ(fitted(12, of_one), 1u);
  EXPECT_EQ(fitted(12, 1), 1u);
  EXPECT_EQ(fitted(12, 0), 12u) << "the memory is not known";
  EXPECT_TRUE(check_cache(config, options, true, 0).ok());
  EXPECT_TRUE(check_cache(config, options, true, of_twelve).ok());
  EXPECT_FALSE(check_cache(config, options, true, of_twelve - 1).ok());
  EXPECT_TRUE(check_cache(config, options, false, of_twelve - 1).ok()) << "lists alone";
}

TEST(MemoryNeeds, LayersGoWhereThereIsRoom) {
  const auto n_layers = [](std::vector<uint64_t> free_bytes) { return n_layers_on_gpus(10, 1000, 50, free_bytes); };
  EXPECT_EQ(n_layers({}), 0u);
  EXPECT_EQ(n_layers({49}), 0u);
  EXPECT_EQ(n_layers({149}), 0u);
  EXPECT_EQ(n_layers({150}), 1u);
  EXPECT_EQ(n_layers({1049}), 9u);
  EXPECT_EQ(n_layers({1050}), 10u);
  EXPECT_EQ(n_layers({5000}), 10u);
  EXPECT_EQ(n_layers({450, 250}), 6u);
  EXPECT_EQ(n_layers_on_gpus(0, 1000, 50, std::vector<uint64_t>{5000}), 0u);
}

}  // namespace
}  // namespace realizar
