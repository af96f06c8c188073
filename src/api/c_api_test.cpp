#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "realizar/realizar.h"

namespace {

constexpr const char* kModel = RZ_SOURCE_DIR "/models/realizar-tiny/realizar-tiny-Q8_0.gguf";
constexpr const char* kChat = R"({"messages": [{"role": "user", "content": "What is the capital of France?"}]})";

int append(const char* text, size_t n_bytes, void* user) {
  static_cast<std::string*>(user)->append(text, n_bytes);
  return 1;
}

class CApi : public testing::Test {
 protected:
  void SetUp() override { model_ = rz_load(kModel, nullptr); }
  void TearDown() override { rz_free(model_); }

  std::vector<int32_t> chat_ids() const {
    std::vector<int32_t> ids(static_cast<size_t>(rz_apply_chat_template(model_, kChat, nullptr, 0)));
    rz_apply_chat_template(model_, kChat, ids.data(), ids.size());
    return ids;
  }
  rz_generate_options greedy() const {
    rz_generate_options options;
    options.struct_size = sizeof options;
    EXPECT_EQ(rz_default_generate_options(model_, &options), 0);
    options.temperature = 0;
    return options;
  }
  rz_model* model_ = nullptr;
};

TEST_F(CApi, AnswersAPrompt) {
  ASSERT_NE(model_, nullptr) << rz_last_error();
  std::string text;
  const auto ids = chat_ids();
  const auto options = greedy();
  EXPECT_EQ(rz_generate(model_, ids.data(), ids.size(), &options, append, &text), 9);
  EXPECT_EQ(text, "The capital of France is Paris.");
}

TEST_F(CApi, AConversationIsThePromptThatItsJsonGives) {
  const rz_message messages[] = {{"system", "Be brief.\t"}, {"user", "\"two\"\nlines \\ <|im_end|> \x01"}};
  std::vector<int32_t> ids(1024), expected(1024);
  const int64_t n = rz_chat_prompt(model_, messages, 2, ids.data(), ids.size());
  const char* json =
      R"({"messages": [{"role": "system", "content": "Be brief.\t"},
                       {"role": "user", "content": "\"two\"\nlines \\ <|im_end|> \u0001"}]})";
  ASSERT_GT(n, 0) << rz_last_error();
  EXPECT_EQ(rz_apply_chat_template(model_, json, expected.data(), expected.size()), n);
  EXPECT_EQ(ids, expected);
}

TEST_F(CApi, BytesThatAreNoUtf8AreReplaced) {
  const rz_message wrong{"user", "caf\xe9"}, right{"user", "caf\xef\xbf\xbd"};
  std::vector<int32_t> ids(256), expected(256);
  ASSERT_GT(rz_chat_prompt(model_, &wrong, 1, ids.data(), ids.size()), 0) << rz_last_error();
  rz_chat_prompt(model_, &right, 1, expected.data(), expected.size());
  EXPECT_EQ(ids, expected);
}

TEST_F(CApi, StopStringsAndLimitsHold) {
  const auto ids = chat_ids();
  auto options = greedy();
  const char* stop[] = {" is"};
  options.stop = stop;
  options.n_stop = 1;
  std::string text;
  EXPECT_GT(rz_generate(model_, ids.data(), ids.size(), &options, append, &text), 0);
  EXPECT_EQ(text, "The capital of France");
  options.n_stop = 0;
  options.max_tokens = 2;
  EXPECT_EQ(rz_generate(model_, ids.data(), ids.size(), &options, nullptr, nullptr), 2);
}

TEST_F(CApi, TokensGoThereAndBackInBuffersOfAnySize) {
  const int64_t n = rz_tokenize(model_, "Hello world", 0, 0, nullptr, 0);
  ASSERT_GT(n, 1);
  std::vector<int32_t> ids(static_cast<size_t>(n), -7);
  EXPECT_EQ(rz_tokenize(model_, "Hello world", 0, 0, ids.data(), 1), n);
  EXPECT_EQ(ids[1], -7);
  rz_tokenize(model_, "Hello world", 0, 0, ids.data(), ids.size());
  char text[32];
  ASSERT_EQ(rz_detokenize(model_, ids.data(), ids.size(), text, sizeof text), 11);
  EXPECT_EQ(std::string(text, 11), "Hello world");
}

TEST_F(CApi, CancelFromAnotherThreadEndsAGeneration) {
  const auto ids = chat_ids();
  auto options = greedy();
  struct Cancelling {
    rz_model* model;
    int n_pieces;
  } state{model_, 0};
  const auto cancel_on_first = [](const char*, size_t, void* user) {
    auto* s = static_cast<Cancelling*>(user);
    if (s->n_pieces++ == 0) std::thread([s] { rz_cancel(s->model); }).join();
    return 1;
  };
  EXPECT_LT(rz_generate(model_, ids.data(), ids.size(), &options, cancel_on_first, &state), 9);
  EXPECT_EQ(state.n_pieces, 1);
}

TEST_F(CApi, ErrorsAreToldAndNothingCrashes) {
  EXPECT_EQ(rz_load("/no/such/model.gguf", nullptr), nullptr);
  EXPECT_EQ(rz_last_error_code(), RZ_NOT_FOUND);
  EXPECT_NE(std::string(rz_last_error()).find("/no/such/model.gguf"), std::string::npos);
  EXPECT_EQ(rz_load(nullptr, nullptr), nullptr);
  EXPECT_EQ(rz_last_error_code(), RZ_INVALID_ARGUMENT);
  const rz_load_options options{sizeof options, "abacus", nullptr, 0, 0};
  EXPECT_EQ(rz_load(kModel, &options), nullptr);
  EXPECT_NE(std::string(rz_last_error()).find("abacus"), std::string::npos);
  EXPECT_LT(rz_tokenize(nullptr, "x", 0, 0, nullptr, 0), 0);
  EXPECT_LT(rz_tokenize(model_, nullptr, 0, 0, nullptr, 0), 0);
  EXPECT_LT(rz_generate(model_, nullptr, 0, nullptr, nullptr, nullptr), 0);
  EXPECT_EQ(rz_last_error_code(), RZ_INVALID_ARGUMENT);
  EXPECT_LT(rz_apply_chat_template(model_, "[]", nullptr, 0), 0);
  EXPECT_LT(rz_chat_prompt(model_, nullptr, 1, nullptr, 0), 0);
  const rz_message no_content{"user", nullptr};
  EXPECT_LT(rz_chat_prompt(model_, &no_content, 1, nullptr, 0), 0);
  EXPECT_EQ(rz_last_error_code(), RZ_INVALID_ARGUMENT);
  EXPECT_LT(rz_n_vocab(nullptr), 0);
  rz_free(nullptr);
  rz_cancel(nullptr);
  EXPECT_EQ(rz_n_vocab(model_), 2048);
}

}  // namespace
