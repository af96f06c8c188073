#include "api/loaded_model.h"

#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/result_checks.h"
#include "base/temp_folder.h"
#include "engine/engine.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModel = RZ_SOURCE_DIR "/models/realizar-tiny/realizar-tiny-Q8_0.gguf";

TEST(LoadedModel, HoldsTheContextsOfAllRequestsWhateverTheirLength) {
  LoadOptions options;
  options.backend = BackendChoice::kCpu;
  options.n_ctx = 57;
  options.batch.max_seqs = 8;
  const auto model = must(LoadedModel::load(kModel, options));
  std::vector<Request> requests(8);
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].prompt.assign(32, TokenId{static_cast<int32_t>(i)});
    requests[i].max_tokens = 25;
    requests[i].ignore_eos = true;
  }
  const auto generations = must(model->engine->generate_all(requests));
  for (const Generation& generation : generations) {
    EXPECT_EQ(generation.tokens.size(), 25u);
    EXPECT_EQ(generation.stats.n_preemptions, 0u);
  }
}

// The author of the parameters is not the user who runs the model: none of the numbers may exceed what the model was
// made for.
TEST(LoadedModel, AContextBesideTheFileIsBoundedByWhatTheModelWasMadeFor) {
  struct Given {
    const char* params;
    uint32_t given, n_ctx;
    bool is_told;
  };
  for (const Given& c : {Given{R"({"num_ctx": 2147483648})", 0, 1024, true},
                         {R"({"num_ctx": 18446744073709551615})", 0, 1024, true},
                         {R"({"num_ctx": 1025})", 0, 1024, true},
                         {R"({"num_ctx": 1024})", 0, 1024, false},
                         {R"({"num_ctx": 100})", 0, 100, false},
                         {R"({"num_ctx": 100})", 64, 64, false},
                         {R"({"num_ctx": 0})", 0, 1024, false},
                         {R"({"num_ctx": -5})", 0, 1024, false}}) {
    LoadOptions options;
    options.backend = BackendChoice::kCpu;
    options.n_ctx = c.given;
    options.beside.params = c.params;
    const auto model = must(LoadedModel::load(kModel, options), c.params);
    EXPECT_EQ(model->info.n_ctx, c.n_ctx) << c.params;
    bool is_told = false;
    for (const std::string& note : model->info.notes) {
      is_told |= note.find("the model was made for 1024 tokens") != std::string::npos;
    }
    EXPECT_EQ(is_told, c.is_told) << c.params;
    EXPECT_GT(model->list_bytes, 0u);
    const auto needed = must(LoadedModel::needed_bytes(kModel, options));
    EXPECT_GE(needed, model->info.kv_bytes + model->list_bytes);
  }
}

TEST(LoadedModel, ACacheBeyondTheMachinesMemoryIsRefusedWithBothNumbers) {
  LoadOptions options;
  options.backend = BackendChoice::kCpu;
  options.cache.n_tokens = UINT32_MAX;
  const auto model = LoadedModel::load(kModel, options);
  ASSERT_TRUE(fails_with(model, ErrorCode::kResourceExhausted, "no memory for a cache of 4294967295 tokens"));
  EXPECT_TRUE(fails_with(model, "and this machine has"));
}

TEST(LoadedModel, EveryBoundIsToldByItsOwnName) {
  const auto refused = [](auto set) {
    LoadOptions options;
    set(options);
    const auto model = LoadedModel::load(kModel, options);
    return model.ok() ? Error{ErrorCode::kInternal, "accepted", ""} : model.error();
  };
  const auto expect_named = [](const Error& error, const std::string& name, const std::string& rest) {
    EXPECT_EQ(error.message, name + ": " + rest);
    EXPECT_EQ(error.subject, name);
  };
  expect_named(refused([](LoadOptions& o) { o.batch.max_seqs = 0; }), "max_seqs", "expected 1 or more, actual 0");
  expect_named(refused([](LoadOptions& o) { o.batch.max_tokens = 0; }), "max_batch_tokens",
               "expected 1 or more, actual 0");
  expect_named(refused([](LoadOptions& o) { o.batch = {.max_seqs = 8, .max_tokens = 7}; }), "max_batch_tokens",
               "expected at least 8, one for each of max_seqs, actual 7");
}

TEST(LoadedModel, TellsOfATokenizerThatItDoesNotKnow) {
  std::ifstream from(kModel, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(from)), {});
  constexpr std::string_view kKey = "tokenizer.ggml.model";
  bytes.replace(bytes.find(kKey) + kKey.size() + 12, 4, "none");  // after the type and length of its text, "gpt2"
  const TempFolder folder;
  EXPECT_TRUE(fails_with(LoadedModel::load(folder.put("model.gguf", bytes), {}), ErrorCode::kUnsupported, "none"));
}

// A model file that changes during loading, as soon as the first tensor is loaded.
class AFileThatChangesDuringTheLoad : public testing::Test {
 protected:
  void SetUp() override { fs::copy_file(kModel, path_); }

  template <class Change>
  Result<std::unique_ptr<LoadedModel>> load(BackendChoice backend, const Change& change) {
    bool has_changed = false;
    LoadOptions options;
    options.backend = backend;
    options.progress = [&](uint64_t, uint64_t) {
      if (!has_changed) change();
      has_changed = true;
      return true;
    };
    return LoadedModel::load(path_.string(), options);
  }

  const TempFolder folder_;
  const fs::path path_ = folder_ / "model.gguf";
};

TEST_F(AFileThatChangesDuringTheLoad, FailsThatLoadAloneWhereItShrinks) {
  const auto other = must(LoadedModel::load(kModel, {}));
  for (const BackendChoice backend : {BackendChoice::kCpu, BackendChoice::kReference}) {
    fs::copy_file(kModel, path_, fs::copy_options::overwrite_existing);
    const auto loaded = load(backend, [this] { fs::resize_file(path_, 4096); });
    ASSERT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.error().code, ErrorCode::kFormatError);
    EXPECT_EQ(loaded.error().message,
              path_.string() + ": the file became shorter while it was read, or its disk failed");
  }
  Request request;
  request.prompt = {TokenId{1}, TokenId{2}};
  request.max_tokens = 3;
  EXPECT_TRUE(other->engine->generate(request, {}).ok());
}

TEST_F(AFileThatChangesDuringTheLoad, FailsWhereItIsWrittenTo) {
  const auto loaded = load(BackendChoice::kCpu, [this] {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(-100, std::ios::end);
    file << "changed";
  });
  EXPECT_TRUE(fails_with(loaded, "was written to while it was read"));
}

TEST_F(AFileThatChangesDuringTheLoad, IsLoadedWhereItIsReplacedOrDeleted) {
  EXPECT_TRUE(load(BackendChoice::kCpu, [this] { fs::remove(path_); }).ok());
}

TEST_F(AFileThatChangesDuringTheLoad, MayShrinkOnceItIsLoaded) {
  const auto loaded = must(load(BackendChoice::kCpu, [] {}));
  fs::resize_file(path_, 0);
  Request request;
  request.prompt = loaded->tokenizer->encode("The capital of France is");
  request.max_tokens = 3;
  EXPECT_EQ(loaded->engine->generate(request, {}).value().tokens.size(), 3u);
}

// An unusable draft model is detected before the large model's weights are read.
TEST(ADraftModel, IsRefusedBeforeAnyWeightIsLoaded) {
  LoadOptions options;
  options.backend = BackendChoice::kCpu;
  options.draft.path = "/no/such/draft.gguf";
  options.progress = [](uint64_t, uint64_t) {
    ADD_FAILURE() << "a weight was loaded";
    return true;
  };
  EXPECT_TRUE(fails_with(LoadedModel::load(kModel, options), "/no/such/draft.gguf"));
  options.draft.path = RZ_SOURCE_DIR "/tests/data/conformance/llama.gguf";
  EXPECT_TRUE(fails_with(LoadedModel::load(kModel, options), "expected a vocabulary of"));
}

// Counts how often files are opened while it exists.
class OpenCounter {
 public:
  OpenCounter() : fd_(inotify_init1(IN_NONBLOCK)) {}
  ~OpenCounter() { close(fd_); }
  OpenCounter(const OpenCounter&) = delete;
  OpenCounter& operator=(const OpenCounter&) = delete;

  int watch(const fs::path& path) { return inotify_add_watch(fd_, path.c_str(), IN_OPEN); }
  std::map<int, int> opened() {
    std::map<int, int> n_opened;
    inotify_event event;  // without a name: the watches are on files
    while (read(fd_, &event, sizeof event) == sizeof event) ++n_opened[event.wd];
    return n_opened;
  }

 private:
  int fd_;
};

TEST(ADraftModel, AndTheModelThatItServesAreOpenedOnce) {
  // Copies, since other tests may open the model at the same time.
  const TempFolder folder;
  const fs::path model = folder / "model.gguf", draft = folder / "draft.gguf";
  fs::copy_file(kModel, model);
  fs::copy_file(kModel, draft);
  OpenCounter counter;
  const int model_watch = counter.watch(model), draft_watch = counter.watch(draft);
  if (model_watch < 0 || draft_watch < 0) GTEST_SKIP() << "files cannot be watched here";
  LoadOptions options;
  options.backend = BackendChoice::kCpu;
  options.draft.path = draft.string();
  must(LoadedModel::load(model.string(), options));
  auto opened = counter.opened();
  EXPECT_EQ(opened[model_watch], 1);
  EXPECT_EQ(opened[draft_watch], 1);
}

TEST(SettingsBesideAFile, GoBeforeThoseOfTheFile) {
  LoadOptions options;
  options.beside.chat_template = "{{ .System }}|{{ .Prompt }}|";
  options.beside.params = R"({"temperature": 0.125, "top_k": 7, "stop": ["END", ""], "num_ctx": 256, "num_gpu": 3})";
  const auto loaded = must(LoadedModel::load(kModel, options));
  EXPECT_EQ(loaded->info.n_ctx, 256u);
  EXPECT_EQ(loaded->generation_config.sampling.temperature, 0.125f);
  EXPECT_EQ(loaded->generation_config.sampling.top_k, 7);
  EXPECT_EQ(loaded->generation_config.stop, std::vector<std::string>{"END"});
  const auto pieces = must(loaded->render_chat(
      {{"messages", {{{"role", "system"}, {"content", "S"}}, {{"role", "user"}, {"content", "U"}}}}}));
  std::string prompt;
  for (const auto& piece : pieces) prompt += piece.text;
  EXPECT_TRUE(prompt.ends_with("S|U|")) << prompt;
}

TEST(SettingsBesideAFile, ThatCannotBeReadAreToldOf) {
  LoadOptions options;
  options.beside.chat_template = "{{ template \"other\" . }}";
  const auto loaded = must(LoadedModel::load(kModel, options));
  ASSERT_EQ(loaded->info.notes.size(), 1u);
  EXPECT_NE(loaded->info.notes[0].find("is not used"), std::string::npos);
  EXPECT_TRUE(loaded->chat_template.has_value());
  options.beside = {"", "[]"};
  EXPECT_EQ(LoadedModel::load(kModel, options).error().subject, "params");
}

TEST(SettingsBesideAFile, ThatAreOutOfRangeAreLeftOut) {
  LoadOptions options;
  options.beside.params = R"({"top_p": 7})";
  const auto loaded = must(LoadedModel::load(kModel, options));
  EXPECT_EQ(loaded->generation_config.sampling.top_p, SamplingParams().top_p);
  ASSERT_EQ(loaded->info.notes.size(), 1u);
  EXPECT_NE(loaded->info.notes[0].find("top_p"), std::string::npos);
}

TEST(ToolTemplate, IsUsedWhereThereAreTools) {
  auto loaded = must(LoadedModel::load(kModel, {}));
  EXPECT_EQ(loaded->template_for(true), loaded->template_for(false));
  ASSERT_TRUE(loaded->use_template("one").ok());
  loaded->tool_template = *text::ChatTemplate::parse("tools");
  const auto rendered = [&](const nlohmann::ordered_json& variables) {
    return loaded->render_chat(variables)->front().text;
  };
  EXPECT_EQ(rendered({{"messages", nlohmann::json::array()}}), "one");
  EXPECT_EQ(rendered({{"tools", nlohmann::json::array()}}), "one");
  EXPECT_EQ(rendered({{"tools", {{{"type", "function"}}}}}), "tools");
  ASSERT_TRUE(loaded->use_template("other").ok());
  EXPECT_EQ(rendered({{"tools", {{{"type", "function"}}}}}), "other");
}

TEST(SettingsBesideAFile, GiveWayToTheContextThatIsAskedFor) {
  LoadOptions options;
  options.beside.params = R"({"num_ctx": 256})";
  options.n_ctx = 128;
  EXPECT_EQ((*LoadedModel::load(kModel, options))->info.n_ctx, 128u);
}

// A copy of the model that can be edited in place.
class SourceHash : public ::testing::Test {
 protected:
  SourceHash() { std::filesystem::copy_file(kModel, path_, std::filesystem::copy_options::overwrite_existing); }
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
