#include "formats/adapter_config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/result_checks.h"

namespace realizar {
namespace {

using Json = nlohmann::json;

Json usual() {
  return {{"peft_type", "LORA"}, {"r", 8}, {"lora_alpha", 16}, {"bias", "none"}};
}

Result<PeftConfig> parse(const Json& config) {
  return PeftConfig::parse(config.dump(), "adapter_config.json");
}

Result<PeftConfig> parse_with(const char* key, Json value) {
  Json config = usual();
  config[key] = std::move(value);
  return parse(config);
}

TEST(PeftConfig, ScalesByAlphaAndRank) {
  const auto config = must(parse(usual()));
  EXPECT_EQ(*config.scale_of("model.layers.0.self_attn.q_proj", 8), 2);
  EXPECT_EQ(*config.rank_of("model.layers.0.self_attn.q_proj"), 8u);
  const auto stabilized = parse_with("use_rslora", true);
  EXPECT_EQ(*stabilized->scale_of("q_proj", 4), 8);
}

// peft.utils.other, get_pattern_key: a pattern matches the whole name, or its end after a dot.
TEST(PeftConfig, TakesPatternsByTheEndsOfNames) {
  Json config = usual();
  config["rank_pattern"] = {{"q_proj", 4}, {"model.layers.1.mlp.up_proj", 2}};
  config["alpha_pattern"] = {{"layers.0.self_attn.q_proj", 32}, {"up_proj", 1.5}};
  const auto read = must(parse(config));
  EXPECT_EQ(*read.rank_of("model.layers.3.self_attn.q_proj"), 4u);
  EXPECT_EQ(*read.rank_of("model.layers.3.self_attn.qq_proj"), 8u);
  EXPECT_EQ(*read.rank_of("model.layers.1.mlp.up_proj"), 2u);
  EXPECT_EQ(*read.rank_of("model.layers.2.mlp.up_proj"), 8u);
  EXPECT_EQ(*read.scale_of("model.layers.0.self_attn.q_proj", 4), 8);
  EXPECT_EQ(*read.scale_of("model.layers.1.self_attn.q_proj", 4), 4);
  EXPECT_EQ(*read.scale_of("model.layers.1.mlp.up_proj", 2), 0.75);
}

TEST(PeftConfig, TakesPatternsThatAreRegularExpressions) {
  const auto rank = [](const char* pattern, const char* name) {
    return *must(parse_with("rank_pattern", {{pattern, 4}})).rank_of(name);
  };
  constexpr const char* kName = "model.layers.10.self_attn.q_proj";
  for (const char* pattern : {R"(.*\.layers\.10\..*)", R"(^model.layers.10.self_attn.q_proj)", "q_proj$", "[qk]_proj",
                              R"(layers\.\d+\.self_attn\.(q|k)_proj)", "q_proj|up_proj", ".*q_proj"}) {
    EXPECT_EQ(rank(pattern, kName), 4u) << pattern;
  }
  for (const char* pattern : {"proj", "_proj", R"(layers\.1\..*)", "^layers.*", "model", R"(layers\.10)", ""}) {
    EXPECT_EQ(rank(pattern, kName), 8u) << pattern;
  }
}

TEST(PeftConfig, TheFirstPatternInTheFilesOrderCounts) {
  const auto rank = [](const char* patterns) {
    const std::string text =
        std::string(R"({"peft_type": "LORA", "r": 8, "lora_alpha": 16, "rank_pattern": )") + patterns + "}";
    return *PeftConfig::parse(text, "adapter_config.json")->rank_of("model.layers.0.mlp.up_proj");
  };
  EXPECT_EQ(rank(R"({"up_proj": 2, "layers.0.*": 4})"), 2u);
  EXPECT_EQ(rank(R"({"layers.0.*": 4, "up_proj": 2})"), 4u);
}

TEST(PeftConfig, PatternsThatAreNoneOrNeverEndAreErrors) {
  for (const char* pattern : {"(", "a)(b", "*", "[z-a]"}) {
    EXPECT_TRUE(fails_with(parse_with("alpha_pattern", {{pattern, 4}}), ErrorCode::kFormatError, "alpha_pattern"))
        << pattern;
  }
  const auto slow = must(parse_with("rank_pattern", {{"(.*)*(.*)*(.*)*x", 4}}));
  EXPECT_FALSE(slow.rank_of(std::string(200, 'a') + "xy").ok());
}

TEST(PeftConfig, RefusesWhatIsNoPlainLoraByName) {
  for (const auto& [key, value] : std::vector<std::pair<const char*, Json>>{{"use_dora", true},
                                                                            {"lora_bias", true},
                                                                            {"bias", "all"},
                                                                            {"peft_type", "IA3"},
                                                                            {"peft_type", 5},
                                                                            {"modules_to_save", {"lm_head"}},
                                                                            {"layer_replication", {{0, 4}}},
                                                                            {"target_parameters", {"experts"}},
                                                                            {"alora_invocation_tokens", {1}},
                                                                            {"init_lora_weights", "pissa_niter_4"}}) {
    EXPECT_TRUE(fails_with(parse_with(key, value), ErrorCode::kUnsupported, key)) << key;
  }
}

TEST(PeftConfig, TakesWhatIsThereAndNotSet) {
  for (const auto& [key, value] : std::vector<std::pair<const char*, Json>>{{"use_dora", false},
                                                                            {"modules_to_save", nullptr},
                                                                            {"modules_to_save", Json::array()},
                                                                            {"rank_pattern", Json::object()},
                                                                            {"layer_replication", nullptr},
                                                                            {"init_lora_weights", true},
                                                                            {"init_lora_weights", "gaussian"},
                                                                            {"fan_in_fan_out", true},
                                                                            {"target_modules", {"q_proj"}},
                                                                            {"target_modules", ".*_proj"},
                                                                            {"exclude_modules", {"k_proj"}},
                                                                            {"layers_to_transform", {0, 1}}}) {
    EXPECT_TRUE(parse_with(key, value).ok()) << key;
  }
}

TEST(PeftConfig, RefusesWrongValuesByName) {
  for (const auto& [key, value] : std::vector<std::pair<const char*, Json>>{{"r", 0},
                                                                            {"r", -1},
                                                                            {"r", 1.5},
                                                                            {"r", "8"},
                                                                            {"r", 1 << 20},
                                                                            {"r", nullptr},
                                                                            {"lora_alpha", "16"},
                                                                            {"lora_alpha", 1e300},
                                                                            {"lora_alpha", nullptr},
                                                                            {"use_rslora", 1},
                                                                            {"rank_pattern", {1, 2}},
                                                                            {"rank_pattern", {{"q_proj", 0}}},
                                                                            {"alpha_pattern", {{"q_proj", "a"}}}}) {
    EXPECT_TRUE(fails_with(parse_with(key, value), ErrorCode::kFormatError, key)) << key;
  }
  EXPECT_EQ(PeftConfig::parse("[]", "adapter_config.json").error().code, ErrorCode::kFormatError);
  EXPECT_EQ(PeftConfig::parse("{", "adapter_config.json").error().code, ErrorCode::kFormatError);
}

TEST(PeftConfig, IsReadAsPythonWritesIt) {
  const auto config = must(PeftConfig::parse(
      "\xef\xbb\xbf{\"peft_type\": \"LORA\", \"r\": 4.0, \"lora_alpha\": 8, \"x\": NaN, \"rank_pattern\": {\"q_proj\": "
      "2}}",
      "adapter_config.json"));
  EXPECT_EQ(config.rank_of("q_proj").value(), 2u);
  EXPECT_EQ(config.rank_of("k_proj").value(), 4u);
}

}  // namespace
}  // namespace realizar
