#include "model/model_config.h"

#include <gtest/gtest.h>

namespace realizar {
namespace {

TEST(ModelConfig, PrintsRunsOfLayersThatAreAlike) {
  ModelConfig config;
  config.arch = "made-up";
  config.n_layers = 3;
  config.ropes = {{.n_rot = 8, .inv_freq = {1, 0.1f, 0.01f, 0.001f}}};
  const AttentionConfig attention{.n_heads = 4, .n_kv_heads = 2, .head_dim = 8, .rope_idx = 0, .scale = 0.5f};
  config.layers.assign(3, {NormPlace::kPre, attention, GatedConfig{.d_ff = 48}});
  auto& last = std::get<AttentionConfig>(config.layers[2].mixer);
  last.rope_idx = kNoRope;
  last.window = 16;
  const std::string text = to_string(config);
  EXPECT_NE(
      text.find("layers 0 to 1: attention, n_heads 4, n_kv_heads 2, head_dim 8, rope_idx 0, scale 0.5; gated ffn, "
                "d_ff 48; norms before each branch\n"
                "layer 2: attention, n_heads 4, n_kv_heads 2, head_dim 8, window 16, scale 0.5; gated"),
      std::string::npos)
      << text;
}

}  // namespace
}  // namespace realizar
