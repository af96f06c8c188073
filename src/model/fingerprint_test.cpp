#include "model/fingerprint.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace realizar {
namespace {

AttentionConfig& attention(ModelConfig& config, size_t layer) {
  return std::get<AttentionConfig>(config.layers[layer].mixer);
}

ModelConfig some_config() {
  ModelConfig config;
  config.arch = "llama";
  config.n_layers = 2;
  config.layers.resize(2);
  config.ropes = {{.n_rot = 6, .inv_freq = {1, 0.5f, 0.25f}}};
  return config;
}

TEST(Fingerprint, OfAConfigChangesWithEveryField) {
  std::set<uint64_t> hashes{hash_of(some_config())};
  EXPECT_EQ(hash_of(some_config()), *hashes.begin());
  const std::vector<std::function<void(ModelConfig&)>> edits{
      [](ModelConfig& c) { c.arch = "qwen2"; },
      [](ModelConfig& c) { attention(c, 0).n_heads = 8; },
      [](ModelConfig& c) { attention(c, 1).n_heads = 8; },
      [](ModelConfig& c) { attention(c, 1).window = 64; },
      [](ModelConfig& c) { attention(c, 0).window = 64; },
      [](ModelConfig& c) { attention(c, 1).rope_idx = 0; },
      [](ModelConfig& c) { attention(c, 0).n_interleaved = 6; },
      [](ModelConfig& c) { attention(c, 0).scale = 0.125f; },
      [](ModelConfig& c) { attention(c, 0).softcap = 50; },
      [](ModelConfig& c) { c.layers[1].norm_place = NormPlace::kParallel; },
      [](ModelConfig& c) { c.layers[1].ffn = PlainConfig{}; },
      [](ModelConfig& c) { c.layers[1].ffn = ExpertsConfig{}; },
      [](ModelConfig& c) { c.layers[1].ffn = ExpertsConfig{.scale = 2}; },
      [](ModelConfig& c) { c.layers[1].ffn = GatedConfig{.activation = Activation::kGelu}; },
      [](ModelConfig& c) { c.norm_eps = 1e-5f; },
      [](ModelConfig& c) { c.norm_eps = 1.0000001e-5f; },
      [](ModelConfig& c) { c.ropes[0].inv_freq[2] = 0.2500001f; },
      [](ModelConfig& c) { c.ropes[0].inv_freq.pop_back(); },
      [](ModelConfig& c) { c.ropes[0].scale = 1.1f; },
      [](ModelConfig& c) { c.ropes.push_back(c.ropes[0]); },
      [](ModelConfig& c) { c.embed_scale = 2; },
  };
  for (size_t i = 0; i < edits.size(); ++i) {
    ModelConfig config = some_config();
    edits[i](config);
    EXPECT_TRUE(hashes.insert(hash_of(config)).second) << "edit " << i;
  }
}

TEST(Fingerprint, OfATensorChangesWithItsNameTypeShapeBytesAndPlace) {
  std::vector<std::byte> bytes(1000), others(1000);
  others[500] = std::byte{1};
  const TensorInfo tensor{"a", TypeId::kF32, {10, 25}, bytes};
  const std::set<uint64_t> hashes{hash_of(tensor, 0),
                                  hash_of(tensor, 1),
                                  hash_of({"b", TypeId::kF32, {10, 25}, bytes}, 0),
                                  hash_of({"a", TypeId::kF16, {10, 25}, bytes}, 0),
                                  hash_of({"a", TypeId::kF32, {25, 10}, bytes}, 0),
                                  hash_of({"a", TypeId::kF32, {10, 25}, others}, 0)};
  EXPECT_EQ(hashes.size(), 6u);
}

}  // namespace
}  // namespace realizar
