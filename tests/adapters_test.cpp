// Adapters of low rank on whole models: the logits of a model with an adapter are those of merged weights, in every
// architecture and on every backend; and requests with several adapters in one batch give the same tokens as each by
// itself.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "engine/adapters.h"
#include "engine/cache_sizes.h"
#include "engine/engine.h"
#include "model/adapter_file.h"
#include "support/all_devices.h"
#include "support/engine_rig.h"
#include "support/made_adapter.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;
using test::Device;
using test::MadeAdapter;

constexpr uint32_t kContext = 64;
constexpr AdapterSlots kSlots{.n_slots = 2, .max_rank = 8};

// A folder for a test's files, removed with it.
class Folder {
 public:
  Folder() {
    path_ = fs::path(testing::TempDir()) / ("adapters_test." + std::to_string(::getpid()));
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  fs::path operator/(const char* name) const { return path_ / name; }

 private:
  fs::path path_;
};

engine::EngineOptions options_for(const ModelConfig& config) {
  return {.n_ctx = kContext,
          .max_seqs = 4,
          .block_tokens = 16,
          .kv_type = KvType::kF32,
          .whole_prompts = config.is_bidirectional};
}

// An engine over a model with room for adapters.
class Adapted {
 public:
  Adapted(const ModelFile& file, std::unique_ptr<Backend> backend, const AdapterSlots& slots = kSlots,
          std::optional<engine::EngineOptions> options = std::nullopt)
      : backend_(std::move(backend)) {
    const ModelConfig config = *read_config(file, {.n_ctx = kContext});
    const engine::EngineOptions own = options.value_or(options_for(config));
    EXPECT_TRUE(backend_->configure(engine::limits_for(own)).ok());
    auto model = Model::load(file, config, *backend_, {.n_ctx = kContext, .adapters = slots});
    EXPECT_TRUE(model.ok()) << model.error().message;
    model_ = std::make_unique<Model>(std::move(*model));
    engine_ = std::move(*engine::Engine::create(*model_, *backend_, {}, own));
  }
  engine::Engine* operator->() { return engine_.get(); }
  const Model& model() const { return *model_; }

  Status load(const std::string& name, const fs::path& path, float scale = 1.0f) {
    return engine_->adapters().load({name, path.string(), scale});
  }
  // The logits of a short text, with or without an adapter.
  std::vector<float> logits(const std::string& adapter) {
    EXPECT_TRUE(engine_->adapters().set_default(adapter, std::nullopt).ok());
    const auto tokens = test::some_tokens(20, 7, 40);
    const auto n = static_cast<uint32_t>(tokens.size());
    auto logits = engine_->logits(tokens, n - 4, n);
    EXPECT_TRUE(logits.ok()) << logits.error().message;
    return logits.ok() ? *logits : std::vector<float>();
  }

 private:
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<engine::Engine> engine_;
};

// The largest difference as a share of the range.
double apart(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size() || a.empty()) return INFINITY;
  const auto [low, high] = std::ranges::minmax(a);
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::fabs(double{a[i]} - b[i]));
  return largest / (high - low);
}

// Random matrices for every target of a GGUF model, each with a different rank.
MadeAdapter adapter_for(const Model& model, uint32_t seed = 1) {
  MadeAdapter made;
  for (const AdapterTarget& target : model.adapter_targets().all()) {
    const uint32_t rank = 1 + static_cast<uint32_t>(made.size()) % kSlots.max_rank;
    const auto own = static_cast<uint32_t>(seed * 100 + made.size());
    made.try_emplace(target.gguf.name, test::random_pair(rank, target.gguf.n_rows, target.n_cols, own));
  }
  return made;
}

// Each pair's factor is alpha by its rank.
void merge(test::TinyModel& model, const MadeAdapter& adapter, double alpha) {
  for (const auto& [name, pair] : adapter) test::merge_into(model, {{name, pair}}, alpha / pair.rank);
}

// The logits of merged weights round differently: their sums have other terms.
constexpr double kExact = 1e-5, kNear = 1e-4, kMoved = 1e-2;
constexpr float kAlpha = 6.0f;

class AdaptedArchitectures : public testing::TestWithParam<const ArchSpec*> {};

TEST_P(AdaptedArchitectures, GiveTheLogitsOfMergedWeights) {
  test::TinyModel tiny = test::tiny_model(*GetParam());
  const auto file = tiny.open();
  ASSERT_TRUE(file.ok()) << file.error().message;
  const ModelConfig config = *read_config(*file);
  if (config.is_bidirectional || config.n_labels > 0) GTEST_SKIP() << "gives no logits of tokens";
  const Folder folder;
  Adapted adapted(*file, make_reference_backend());
  const MadeAdapter made = adapter_for(adapted.model());
  if (made.empty()) GTEST_SKIP() << "has no matrices that adapters change";
  ASSERT_TRUE(test::gguf_adapter(made, GetParam()->name, kAlpha).write(folder / "lora.gguf").ok());
  const auto before = adapted.logits("");
  const Status loaded = adapted.load("a", folder / "lora.gguf");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  merge(tiny, made, kAlpha);
  const auto merged = tiny.open();
  ASSERT_TRUE(merged.ok()) << merged.error().message;
  const auto expected = Adapted(*merged, make_reference_backend(), {}).logits("");
  EXPECT_LT(apart(expected, adapted.logits("a")), kExact);
  EXPECT_GT(apart(before, expected), kMoved);
  EXPECT_EQ(adapted.logits(""), before) << "without the adapter nothing has changed";
}

INSTANTIATE_TEST_SUITE_P(Architectures, AdaptedArchitectures, testing::ValuesIn(all_architectures()),
                         [](const auto& test) { return test::test_name(*test.param); });

// Gated, plain and softcapped products, q and k by pairs and fused ones, on each backend.
class AdaptedDevices : public testing::TestWithParam<std::tuple<const ArchSpec*, Device>> {};

TEST_P(AdaptedDevices, GiveTheLogitsOfMergedWeights) {
  const auto& [spec, device] = GetParam();
  auto backend = device.make();
  if (!backend.ok()) GTEST_SKIP() << backend.error().message;
  test::TinyModel tiny = test::tiny_model(*spec);
  const auto file = tiny.open();
  const Folder folder;
  Adapted adapted(*file, std::move(*backend));
  const MadeAdapter made = adapter_for(adapted.model());
  ASSERT_TRUE(test::gguf_adapter(made, spec->name, kAlpha).write(folder / "lora.gguf").ok());
  ASSERT_TRUE(adapted.load("a", folder / "lora.gguf").ok());
  merge(tiny, made, kAlpha);
  const auto merged = tiny.open();
  EXPECT_LT(apart(Adapted(*merged, make_reference_backend(), {}).logits(""), adapted.logits("a")), kNear);
}

std::vector<Request> requests(const std::vector<std::string>& adapters) {
  std::vector<Request> all;
  for (size_t i = 0; i < adapters.size(); ++i) {
    Request request = test::request_for(test::some_tokens(21, 7, 40), 5);  // equal except for the adapter
    request.adapter = adapters[i];
    if (i == 3) request.adapter_scale = 0.5f;
    request.max_tokens = 24;
    all.push_back(std::move(request));
  }
  return all;
}

// The cache has room for two of them at a time.
const engine::EngineOptions kTight{
    .n_ctx = kContext, .max_seqs = 4, .max_batch_tokens = 16, .kv_tokens = 96, .block_tokens = 16};

TEST_P(AdaptedDevices, GiveEachRequestInABatchTheTokensThatItGivesAlone) {
  const auto& [spec, device] = GetParam();
  auto backend = device.make();
  if (!backend.ok()) GTEST_SKIP() << backend.error().message;
  const auto file = test::tiny_model(*spec).open();
  const Folder folder;
  Adapted adapted(*file, std::move(*backend), kSlots, kTight);
  for (const uint32_t i : {1u, 2u}) {
    const std::string name = i == 1 ? "a" : "b";
    const fs::path path = folder / name.c_str();
    ASSERT_TRUE(test::gguf_adapter(adapter_for(adapted.model(), i), spec->name, kAlpha).write(path).ok());
    ASSERT_TRUE(adapted.load(name, path).ok());
  }
  const std::vector<Request> wanted = requests({"a", "", "b", "a"});
  const auto together = adapted->generate_all(wanted);
  ASSERT_TRUE(together.ok()) << together.error().message;
  Adapted plain(*file, *device.make(), {}, kTight);
  for (size_t i = 0; i < wanted.size(); ++i) {
    adapted->forget_prefixes();
    EXPECT_EQ((*together)[i].tokens, adapted->generate(wanted[i], {}).value().tokens) << i;
    const auto again = adapted->generate(wanted[i], {}).value();
    EXPECT_EQ((*together)[i].tokens, again.tokens) << i;
    EXPECT_EQ(again.stats.n_cached, 20u) << i;
    for (size_t j = 0; j < i; ++j) EXPECT_NE((*together)[i].tokens, (*together)[j].tokens) << i << " and " << j;
  }
  EXPECT_EQ((*together)[1].tokens, plain->generate(requests({""})[0], {}).value().tokens);
}

INSTANTIATE_TEST_SUITE_P(Devices, AdaptedDevices,
                         testing::Combine(testing::Values(&kLlama, &kGpt2, &kGemma2, &kPhi3),
                                          testing::ValuesIn(test::kDevices)),
                         [](const auto& test) {
                           return test::test_name(*std::get<0>(test.param)) + "_" + std::get<1>(test.param).name;
                         });

// Hugging Face's order of the rows of q and k differs from GGUF's, which keeps pairs.
std::vector<float> in_pairs(const std::vector<float>& rows, uint32_t n_heads, uint32_t rank) {
  std::vector<float> paired(rows.size());
  const auto head_dim = static_cast<uint32_t>(rows.size() / rank / n_heads), half = head_dim / 2;
  for (uint32_t h = 0; h < n_heads; ++h) {
    for (uint32_t i = 0; i < half; ++i) {
      for (uint32_t j = 0; j < 2; ++j) {
        const size_t from = size_t{h * head_dim + j * half + i} * rank, to = size_t{h * head_dim + 2 * i + j} * rank;
        std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(from), rank,
                    paired.begin() + static_cast<std::ptrdiff_t>(to));
      }
    }
  }
  return paired;
}

// A GGUF Llama with PEFT adapters.
class PeftAdapters : public testing::Test {
 protected:
  PeftAdapters() {
    config_ = test::peft_config(4, 8);
    for (const uint32_t layer : {0u, 1u}) {
      const std::string at = std::to_string(layer);
      add("blk." + at + ".attn_q", "model.layers." + at + ".self_attn.q_proj", 32, 32);
      add("blk." + at + ".attn_k", "model.layers." + at + ".self_attn.k_proj", 16, 32);
      add("blk." + at + ".ffn_down", "model.layers." + at + ".mlp.down_proj", 32, 48);
    }
    add("output", "lm_head", 40, 32);
  }

  void add(const std::string& gguf, const std::string& hf, uint32_t n_rows, uint32_t n_cols) {
    const auto pair = test::random_pair(4, n_rows, n_cols, static_cast<uint32_t>(peft_.size()) + 9);
    peft_[hf] = gguf_[gguf] = pair;
    const bool is_turned = gguf.ends_with("attn_q") || gguf.ends_with("attn_k");
    if (is_turned) gguf_[gguf].up = in_pairs(pair.up, n_rows / 8, 4);
  }
  // Whether the model with the adapter equals the one with these factors merged in.
  void expect_merged(const std::function<double(const std::string& gguf)>& factor_of) {
    const auto file = tiny_.open();
    Adapted adapted(*file, make_reference_backend());
    test::write_peft_adapter(folder_ / "peft", peft_, config_);
    const Status loaded = adapted.load("a", folder_ / "peft");
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    test::TinyModel merged = tiny_;
    for (const auto& [name, pair] : gguf_) test::merge_into(merged, {{name, pair}}, factor_of(name));
    EXPECT_LT(apart(Adapted(*merged.open(), make_reference_backend(), {}).logits(""), adapted.logits("a")), kExact);
  }

  test::TinyModel tiny_ = test::tiny_model(kLlama);
  Folder folder_;
  MadeAdapter peft_, gguf_;
  nlohmann::json config_;
};

TEST_F(PeftAdapters, AreReadForAModelOfTheOtherFormat) {
  expect_merged([](const std::string&) { return 2.0; });
}

TEST_F(PeftAdapters, AreScaledByTheRootOfTheRankWhereTheyAreStabilized) {
  config_["use_rslora"] = true;
  expect_merged([](const std::string&) { return 4.0; });
}

TEST_F(PeftAdapters, HaveRanksAndAlphasByPatterns) {
  config_["r"] = 2;
  config_["rank_pattern"] = {{"q_proj", 4}, {"k_proj", 4}, {"mlp.down_proj", 4}, {"lm_head", 4}};
  config_["alpha_pattern"] = {{"layers.1.self_attn.q_proj", 12}, {"down_proj", 1}};
  expect_merged([](const std::string& name) {
    return name == "blk.1.attn_q" ? 3.0 : name.ends_with("ffn_down") ? 0.25 : 2.0;
  });
}

TEST_F(PeftAdapters, HavePatternsThatAreRegularExpressions) {
  config_["alpha_pattern"] = {{"^model\\.layers\\.1\\.(self_attn|mlp)\\.[a-z_]+", 12}};
  expect_merged([](const std::string& name) { return name.starts_with("blk.1.") ? 3.0 : 2.0; });
}

// The names that trainers write: with the adapter's name, and without PEFT's own beginning.
TEST_F(PeftAdapters, MayHaveOtherNamesOfTensors) {
  for (const auto& [begin, middle] :
       {std::pair("base_model.model.", ".default"), std::pair("", ""), std::pair("base_model.model.", ".my-adapter")}) {
    const auto file = tiny_.open();
    Adapted adapted(*file, make_reference_backend());
    test::write_peft_adapter(folder_ / "peft", peft_, config_, begin, middle);
    const Status loaded = adapted.load("a", folder_ / "peft");
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    test::TinyModel merged = tiny_;
    test::merge_into(merged, gguf_, 2);
    EXPECT_LT(apart(Adapted(*merged.open(), make_reference_backend(), {}).logits(""), adapted.logits("a")), kExact);
  }
}

TEST_F(PeftAdapters, OfMlxAreTransposedAndHaveTheirOwnScale) {
  const auto file = tiny_.open();
  Adapted adapted(*file, make_reference_backend());
  const fs::path folder = folder_ / "mlx";
  nlohmann::json config = {{"fine_tune_type", "lora"},
                           {"num_layers", 2},
                           {"lora_parameters", {{"rank", 4}, {"scale", 3.0}, {"dropout", 0.0}}}};
  test::write_mlx_adapter(folder, peft_, config);
  const Status loaded = adapted.load("a", folder);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  test::TinyModel merged = tiny_;
  test::merge_into(merged, gguf_, 3);
  EXPECT_LT(apart(Adapted(*merged.open(), make_reference_backend(), {}).logits(""), adapted.logits("a")), kExact);
  for (const auto& [key, value] :
       std::vector<std::pair<const char*, nlohmann::json>>{{"fine_tune_type", "dora"},
                                                           {"fine_tune_type", "full"},
                                                           {"lora_parameters", {{"rank", 5}, {"scale", 3.0}}},
                                                           {"lora_parameters", {{"rank", 4}, {"scale", "3"}}},
                                                           {"lora_parameters", {{"rank", 4}}}}) {
    nlohmann::json wrong = config;
    wrong[key] = value;
    test::write_mlx_adapter(folder, peft_, wrong);
    EXPECT_FALSE(adapted.load("b", folder).ok()) << wrong;
  }
}

TEST_F(PeftAdapters, OfTheHeadArePossibleWhereItIsTheEmbeddings) {
  std::erase_if(tiny_.tensors, [](const auto& tensor) { return tensor.name == "output.weight"; });
  expect_merged([](const std::string&) { return 2.0; });
}

// A Llama with room for adapters, and files that are invalid as adapters for it.
class AdapterFiles : public testing::Test {
 protected:
  AdapterFiles() : file_(std::move(*tiny_.open())), adapted_(file_, make_reference_backend()) {
    made_["blk.0.attn_q"] = test::random_pair(4, 32, 32, 1);
    made_["blk.1.ffn_up"] = test::random_pair(4, 48, 32, 2);
  }

  GgufWriter gguf(std::string_view architecture = "llama") const {
    return test::gguf_adapter(made_, architecture, kAlpha);
  }
  Error error_of(const GgufWriter& writer) {
    EXPECT_TRUE(writer.write(folder_ / "lora.gguf").ok());
    const Status status = adapted_.load("a", folder_ / "lora.gguf");
    return status.ok() ? Error{ErrorCode::kInternal, "it was loaded", ""} : status.error();
  }
  Error error_of_made(std::string_view architecture = "llama") { return error_of(gguf(architecture)); }
  void expect(const Error& error, ErrorCode code, const std::string& part) {
    EXPECT_EQ(error.code, code) << error.message;
    EXPECT_NE(error.message.find(part), std::string::npos) << error.message;
  }

  test::TinyModel tiny_ = test::tiny_model(kLlama);
  ModelFile file_;
  Folder folder_;
  Adapted adapted_;
  MadeAdapter made_;
};

TEST_F(AdapterFiles, OfAnotherArchitectureAreRefused) {
  expect(error_of_made("qwen2"), ErrorCode::kUnsupported, "expected 'llama', the model's, actual 'qwen2'");
}

TEST_F(AdapterFiles, MayLackTheKeysThatTellWhatTheyAre) {
  GgufWriter writer;
  for (const auto& [name, pair] : made_) {
    writer.add_tensor(name + ".weight.lora_b", TypeId::kF32, {pair.n_rows, pair.rank}, pair.up);
    writer.add_tensor(name + ".weight.lora_a", TypeId::kF32, {pair.rank, pair.n_cols}, pair.down);
  }
  ASSERT_TRUE(writer.write(folder_ / "lora.gguf").ok());
  const Status loaded = adapted_.load("a", folder_ / "lora.gguf");
  EXPECT_TRUE(loaded.ok()) << loaded.error().message;
}

TEST_F(AdapterFiles, OfEmbeddingsAndWholeWeightsAreRefusedWithTheReason) {
  for (const auto& [name, reason] : {std::pair("model.embed_tokens.lora_embedding_A", "adapters of embeddings"),
                                     std::pair("model.norm.weight", "merge it into the model"),
                                     std::pair("model.layers.0.self_attn.q_proj.lora_magnitude_vector", "lora_A")}) {
    test::SafetensorsWriter writer;
    const std::vector<float> values(32);
    writer.add("base_model.model." + std::string(name), "F32", {32}, std::as_bytes(std::span(values)));
    test::write_peft_adapter(folder_ / "peft", {}, test::peft_config(4, 8));
    writer.write(folder_ / "peft" / "adapter_model.safetensors");
    expect(adapted_.load("a", folder_ / "peft").error(), ErrorCode::kUnsupported, reason);
  }
}

TEST_F(AdapterFiles, ThatAreModelsAreRefused) {
  expect(error_of(tiny_.writer()), ErrorCode::kFormatError, "general.type: expected 'adapter', actual 'none'");
}

TEST_F(AdapterFiles, WithShapesOfOthersAreRefused) {
  made_["blk.0.attn_q"] = test::random_pair(4, 32, 33, 1);
  expect(error_of_made(), ErrorCode::kFormatError, "'blk.0.attn_q.weight.lora_a': expected 32 columns, actual 33");
  made_["blk.0.attn_q"] = test::random_pair(4, 30, 32, 1);
  expect(error_of_made(), ErrorCode::kFormatError, "'blk.0.attn_q.weight.lora_b': expected 32 rows, actual 30");
}

TEST_F(AdapterFiles, WithUnknownTensorsAreRefused) {
  made_["blk.7.attn_q"] = made_["blk.0.attn_q"];
  expect(error_of_made(), ErrorCode::kUnsupported, "cannot change 'blk.7.attn_q'");
  made_.erase("blk.7.attn_q");
  made_["token_embd"] = test::random_pair(4, 40, 32, 1);
  expect(error_of_made(), ErrorCode::kUnsupported, "cannot change 'token_embd'");
  GgufWriter writer;
  writer.add_string("general.type", "adapter");
  writer.add_string("adapter.type", "lora");
  writer.add_string("general.architecture", "llama");
  writer.add_tensor("blk.0.attn_q.weight", TypeId::kF32, {1, 1}, std::vector<float>{1});
  expect(error_of(writer), ErrorCode::kUnsupported, "'blk.0.attn_q.weight' is not part of a LoRA adapter");
}

TEST_F(AdapterFiles, WithHalfAPairAreRefused) {
  GgufWriter writer = gguf();
  writer.add_tensor("blk.1.attn_q.weight.lora_a", TypeId::kF32, {4, 32}, std::vector<float>(128));
  expect(error_of(writer), ErrorCode::kFormatError, "the other half of 'blk.1.attn_q' is missing");
}

TEST_F(AdapterFiles, WithRanksThatDifferOrAreTooLargeAreRefused) {
  GgufWriter writer = gguf();
  writer.add_tensor("blk.1.attn_q.weight.lora_a", TypeId::kF32, {4, 32}, std::vector<float>(128));
  writer.add_tensor("blk.1.attn_q.weight.lora_b", TypeId::kF32, {32, 3}, std::vector<float>(96));
  expect(error_of(writer), ErrorCode::kFormatError, "expected the rank 4 of 'blk.1.attn_q.weight.lora_a', actual 3");
  made_["blk.0.attn_q"] = test::random_pair(9, 32, 32, 1);
  expect(error_of_made(), ErrorCode::kUnsupported, "the rank 9 is above the model's maximum, 8");
  made_["blk.0.attn_q"] = test::random_pair(kMaxAdapterRank + 1, 32, 32, 1);
  expect(error_of_made(), ErrorCode::kFormatError, "expected a rank from 1 to 512, actual 513");
}

TEST_F(AdapterFiles, WithNumbersThatAreNoneAreRefused) {
  made_["blk.0.attn_q"].up[5] = NAN;
  expect(error_of_made(), ErrorCode::kFormatError, "'blk.0.attn_q.weight.lora_b': it holds NaN or an infinity");
  made_["blk.0.attn_q"].up[5] = 0;
  made_["blk.0.attn_q"].down[5] = 3e38f;
  expect(error_of_made(), ErrorCode::kFormatError, "multiplied by its factor it holds NaN or an infinity");
}

TEST_F(AdapterFiles, ThatBeginInAPromptsMiddleAreRefused) {
  GgufWriter writer = gguf();
  writer.add_i32s("adapter.alora.invocation_tokens", {1, 2});
  expect(error_of(writer), ErrorCode::kUnsupported, "adapter.alora.invocation_tokens");
}

TEST_F(AdapterFiles, ThatAreNotThereAreRefused) {
  expect(adapted_.load("a", folder_ / "none.gguf").error(), ErrorCode::kNotFound, "none.gguf");
  fs::create_directories(folder_ / "empty");
  expect(adapted_.load("a", folder_ / "empty").error(), ErrorCode::kNotFound, "adapter_config.json");
}

TEST_F(AdapterFiles, OfPeftAreRefusedByWhatIsNotPlainLora) {
  const fs::path folder = folder_ / "peft";
  const auto pair = test::random_pair(4, 32, 32, 1);
  nlohmann::json config = test::peft_config(4, 8);
  config["use_dora"] = true;
  test::write_peft_adapter(folder, {{"model.layers.0.self_attn.q_proj", pair}}, config);
  expect(adapted_.load("a", folder).error(), ErrorCode::kUnsupported, "use_dora of true is not supported");
  test::write_peft_adapter(folder, {{"model.layers.0.self_attn.q_proj", pair}}, test::peft_config(5, 8));
  expect(adapted_.load("a", folder).error(), ErrorCode::kFormatError, "expected the rank 5 of adapter_config.json");
  test::write_peft_adapter(folder, {{"model.layers.0.self_attn.qq_proj", pair}}, test::peft_config(4, 8));
  expect(adapted_.load("a", folder).error(), ErrorCode::kUnsupported, "model.layers.0.self_attn.qq_proj");
}

// Adapters come and go while requests have them.
class AdaptersAtRunTime : public AdapterFiles {
 protected:
  AdaptersAtRunTime() {
    for (const uint32_t i : {1u, 2u, 3u}) {
      const auto made = adapter_for(adapted_.model(), i);
      EXPECT_TRUE(test::gguf_adapter(made, "llama", kAlpha).write(path(i)).ok());
    }
  }
  fs::path path(uint32_t i) const { return folder_ / ("lora" + std::to_string(i) + ".gguf").c_str(); }
  std::vector<TokenId> tokens_with(const std::string& name) {
    return adapted_->generate(requests({name})[0], {}).value().tokens;
  }
};

TEST_F(AdaptersAtRunTime, AreFoundByTheirNamesAlone) {
  EXPECT_EQ(adapted_->generate(requests({"a"})[0], {}).error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(adapted_.load("a", path(1), 0.5f).ok());
  EXPECT_EQ(adapted_.load("a", path(2)).error().code, ErrorCode::kInvalidArgument);
  ASSERT_EQ(adapted_->adapters().list().size(), 1u);
  const AdapterInfo info = adapted_->adapters().list()[0];
  EXPECT_EQ(info.name, "a");
  EXPECT_EQ(info.scale, 0.5f);
  EXPECT_EQ(info.rank, kSlots.max_rank);
  EXPECT_FALSE(info.is_default);
}

TEST_F(AdaptersAtRunTime, TakeNoPartWithAScaleOf0) {
  ASSERT_TRUE(adapted_.load("a", path(1)).ok());
  Request request = requests({"a"})[0];
  request.adapter_scale = 0.0f;
  EXPECT_EQ(adapted_->generate(request, {}).value().tokens, tokens_with(""));
  request.adapter_scale = INFINITY;
  EXPECT_EQ(adapted_->generate(request, {}).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(AdaptersAtRunTime, MayTakeTheNameOfOneThatIsGone) {
  ASSERT_TRUE(adapted_.load("a", path(1)).ok());
  const auto first = tokens_with("a");
  ASSERT_TRUE(adapted_->adapters().remove("a").ok());
  ASSERT_TRUE(adapted_.load("a", path(2)).ok());
  EXPECT_NE(tokens_with("a"), first) << "no prefix of the first one is taken";
  ASSERT_TRUE(adapted_->adapters().remove("a").ok());
  ASSERT_TRUE(adapted_.load("c", path(1)).ok());
  EXPECT_EQ(tokens_with("c"), first);
}

TEST_F(AdaptersAtRunTime, StayWhileRequestsHaveThem) {
  ASSERT_TRUE(adapted_.load("a", path(1)).ok());
  ASSERT_TRUE(adapted_.load("b", path(2)).ok());
  EXPECT_EQ(adapted_.load("c", path(3)).error().code, ErrorCode::kResourceExhausted);
  const auto alone = tokens_with("a");
  std::vector<TokenId> tokens;
  bool is_tried = false;
  const auto on_token = [&](const TokenEvent& event) {
    tokens.push_back(event.id);
    if (!std::exchange(is_tried, true)) {
      EXPECT_TRUE(adapted_->adapters().remove("a").ok());
      EXPECT_EQ(adapted_.load("c", path(3)).error().code, ErrorCode::kResourceExhausted) << "its slot is in use";
    }
    return true;
  };
  ASSERT_TRUE(adapted_->generate(requests({"a"})[0], on_token).ok());
  EXPECT_EQ(tokens, alone);
  EXPECT_EQ(adapted_->generate(requests({"a"})[0], {}).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(adapted_.load("c", path(3)).ok()) << "its slot is free";
}

TEST_F(AdaptersAtRunTime, TellWhoRunsAndWhoWaits) {
  ASSERT_TRUE(adapted_.load("b", path(2)).ok());
  ASSERT_TRUE(adapted_.load("a", path(1)).ok());
  using Numbers = std::vector<std::tuple<std::string, uint32_t, uint32_t>>;
  const auto numbers = [&] {
    Numbers all;
    for (const engine::AdapterUse& use : adapted_->adapters().uses()) {
      all.emplace_back(use.name, use.n_running, use.n_waiting);
    }
    return all;
  };
  EXPECT_EQ(adapted_->adapters().n_slots(), 2u);
  EXPECT_EQ(numbers(), (Numbers{{"b", 0, 0}, {"a", 0, 0}}));
  {
    auto waiting = adapted_->adapters().hold(requests({"a"})[0]);
    ASSERT_TRUE(waiting.ok());
    std::vector<Numbers> told;
    const auto on_token = [&](const TokenEvent&) {
      if (told.empty()) {
        told.push_back(numbers());
        EXPECT_TRUE(adapted_->adapters().remove("a").ok());
      }
      told.push_back(numbers());
      return true;
    };
    ASSERT_TRUE(adapted_->generate(requests({"a"})[0], on_token).ok());
    for (const Numbers& during : told)
      EXPECT_EQ(during, (Numbers{{"b", 0, 0}, {"a", 1, 1}})) << "it leaves with its last";
    EXPECT_EQ(numbers(), (Numbers{{"b", 0, 0}, {"a", 0, 1}}));
  }
  EXPECT_EQ(numbers(), (Numbers{{"b", 0, 0}}));
}

TEST_F(AdaptersAtRunTime, AreThoseOfRequestsThatNameNoneWhereOneIsTheDefault) {
  ASSERT_TRUE(adapted_.load("a", path(1)).ok());
  Request unnamed = requests({"a"})[0];
  unnamed.adapter.reset();
  const auto plain = adapted_->generate(unnamed, {}).value().tokens;
  EXPECT_EQ(plain, tokens_with(""));
  ASSERT_TRUE(adapted_->adapters().set_default("a", std::nullopt).ok());
  EXPECT_EQ(adapted_->generate(unnamed, {}).value().tokens, tokens_with("a"));
  EXPECT_NE(tokens_with("a"), plain);
  EXPECT_EQ(tokens_with(""), plain) << "none is asked for by name";
  EXPECT_EQ(adapted_->adapters().set_default("b", std::nullopt).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace realizar
