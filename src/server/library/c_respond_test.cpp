#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "realizar/realizar.h"
#include "server/http/json.h"
#include "server/routes/routes.h"

#include <nlohmann/json.hpp>

namespace realizar::server {
namespace {

// Everything that the callbacks for one body received.
struct Heard {
  int status = 0;
  std::string content_type, text, message;
  std::vector<std::string> pieces;
  std::vector<rz_result> results;
  rz_result end{};
  size_t n_ends = 0, n_wanted = SIZE_MAX;
};

int on_bytes(const rz_response* response, const char* bytes, size_t n_bytes, void* user) {
  auto& heard = *static_cast<Heard*>(user);
  heard.status = response->status;
  heard.content_type = response->content_type;
  heard.pieces.emplace_back(bytes, n_bytes);
  heard.text.append(bytes, n_bytes);
  return heard.pieces.size() < heard.n_wanted ? 1 : 0;
}

void on_result(size_t, const char*, size_t, const rz_result* result, void* user) {
  static_cast<Heard*>(user)->results.push_back(*result);
}

void on_end(const char* text, size_t n_bytes, const rz_result* result, void* user) {
  auto& heard = *static_cast<Heard*>(user);
  heard.message.assign(text, n_bytes);
  heard.end = *result;
  ++heard.n_ends;
}

constexpr const char* kChat = "/v1/chat/completions";
constexpr std::string_view kQuestion =
    R"("messages": [{"role": "user", "content": "What is the capital of France?"}], "temperature": 0)";
constexpr std::string_view kAnswer = "The capital of France is Paris.";

std::string chat(std::string_view more = "") {
  return "{" + std::string(kQuestion) + std::string(more) + "}";
}

class Respond : public ::testing::Test {
 protected:
  void SetUp() override {
    rz_load_options options{};
    options.struct_size = sizeof options;
    options.max_seqs = 2;
    model = rz_load(RZ_SOURCE_DIR "/models/realizar-tiny/realizar-tiny-Q8_0.gguf", &options);
    ASSERT_NE(model, nullptr) << rz_last_error();
    session = rz_session_open(model, 0);
    ASSERT_NE(session, nullptr) << rz_last_error();
  }
  void TearDown() override {
    rz_session_free(session);
    rz_free(model);
  }

  int64_t begin(const char* path, const std::string& body, Heard& heard, const rz_respond_options* options = nullptr) {
    return rz_session_respond(session, path, body.data(), body.size(), options, on_bytes, on_result, on_end, &heard);
  }
  Heard ask(const char* path, const std::string& body, const rz_respond_options* options = nullptr) {
    Heard heard;
    EXPECT_GT(begin(path, body, heard, options), 0) << rz_last_error();
    EXPECT_EQ(rz_session_wait(session), 0);
    EXPECT_EQ(heard.n_ends, 1u);
    return heard;
  }

  rz_model* model = nullptr;
  rz_session* session = nullptr;
};

TEST_F(Respond, AnswersAWholeChat) {
  rz_respond_options options{};
  options.struct_size = sizeof options;
  options.model_name = "mine";
  const Heard heard = ask(kChat, chat(R"(, "n": 2)"), &options);
  EXPECT_EQ(heard.status, 200);
  EXPECT_EQ(heard.content_type, "application/json");
  EXPECT_EQ(heard.pieces.size(), 1u);
  const auto json = parse_json(heard.text);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ((*json)["model"], "mine");
  EXPECT_EQ((*json)["choices"][1]["message"]["content"], kAnswer);
  ASSERT_EQ(heard.results.size(), 2u);
  EXPECT_EQ(heard.results[1].n_generated, 9u);
  EXPECT_EQ(heard.end.finish_reason, RZ_FINISH_STOP);
  EXPECT_EQ(heard.end.n_prompt, 16u);
}

TEST_F(Respond, StreamsEventsAsTheyCome) {
  const Heard heard = ask(kChat, chat(R"(, "stream": true)"));
  EXPECT_EQ(heard.content_type, "text/event-stream; charset=utf-8");
  EXPECT_TRUE(heard.text.ends_with("data: [DONE]\n\n"));
  std::string content;
  for (size_t at = heard.text.find("data: {"); at != std::string::npos; at = heard.text.find("data: {", at + 1)) {
    const auto event = parse_json(heard.text.substr(at + 6, heard.text.find("\n\n", at) - at - 6));
    ASSERT_TRUE(event.ok());
    content += (*event)["choices"][0]["delta"].value("content", std::string());
  }
  EXPECT_EQ(content, kAnswer);
}

TEST_F(Respond, StreamsOfLongEventsAreWhole) {
  const Heard heard =
      ask("/v1/responses", R"({"input": "What is the capital of France?", "temperature": 0, "stream": true})");
  EXPECT_NE(heard.text.find("event: response.completed\n"), std::string::npos) << heard.text;
  EXPECT_TRUE(heard.text.ends_with("\n\n"));
  EXPECT_EQ(heard.text.find("[DONE]"), std::string::npos);
}

TEST_F(Respond, AnswersWhatIsNotGenerated) {
  EXPECT_EQ(ask("/tokenize", R"({"content": "a"})").status, 200);
  const auto vectors = parse_json(ask("/v1/embeddings", R"({"input": ["a", "b"]})").text);
  ASSERT_TRUE(vectors.ok());
  EXPECT_EQ((*vectors)["data"][1]["embedding"].size(), 256u);
}

TEST_F(Respond, RefusesInTheDialectsOwnWords) {
  const Heard chats = ask(kChat, chat(R"(, "top_p": 7)"));
  EXPECT_EQ(chats.status, 400);
  EXPECT_EQ((*parse_json(chats.text))["error"]["param"], "top_p");
  EXPECT_EQ(chats.end.finish_reason, RZ_FINISH_ERROR);
  EXPECT_EQ(chats.end.error_code, RZ_INVALID_ARGUMENT);
  EXPECT_NE(chats.message.find("top_p"), std::string::npos);
  EXPECT_EQ((*parse_json(ask("/v1/messages", "{}").text))["type"], "error");
  EXPECT_EQ(ask("/v1/responses", R"({"input": "a", "background": true})").status, 400);
  EXPECT_EQ(ask(kChat, "no JSON").status, 400);
}

TEST_F(Respond, TellsWhatIsNotBuiltByItsCode) {
  const Heard heard = ask(kChat, chat(R"(, "structured_outputs": {"structural_tag": "x"})"));
  EXPECT_EQ(heard.status, 400) << heard.text;
  EXPECT_EQ(heard.end.error_code, RZ_UNSUPPORTED);
}

// All paths except Ollama's, which the server answers from its list of models, and old names of two paths.
TEST_F(Respond, KnowsThePathsOnWhichTheServersModelsAnswer) {
  for (const Route& route : all_routes()) {
    const std::string path = route.path;
    if (route.serve != with_model || path.starts_with("/api/") || path == "/embedding" || path == "/v1/reranking") {
      continue;
    }
    EXPECT_NE(ask(path.c_str(), "{}").status, 0) << path;
  }
}

TEST_F(Respond, KnowsNoOtherPaths) {
  Heard heard;
  EXPECT_LT(begin("/v1/models", "{}", heard), 0);
  EXPECT_EQ(rz_last_error_code(), RZ_NOT_FOUND);
  EXPECT_LT(rz_session_respond(session, nullptr, "{}", 2, nullptr, nullptr, nullptr, nullptr, nullptr), 0);
  EXPECT_EQ(heard.n_ends, 0u);
}

TEST_F(Respond, EndsWhenNoMoreIsWanted) {
  Heard heard;
  heard.n_wanted = 3;
  ASSERT_GT(begin(kChat, chat(R"(, "stream": true, "n": 2, "ignore_eos": true)"), heard), 0);
  ASSERT_EQ(rz_session_wait(session), 0);
  EXPECT_EQ(heard.pieces.size(), 3u);
  EXPECT_EQ(heard.end.finish_reason, RZ_FINISH_CANCELLED);
  ASSERT_EQ(heard.results.size(), 2u);
  for (const rz_result& result : heard.results) EXPECT_EQ(result.finish_reason, RZ_FINISH_CANCELLED);
}

TEST_F(Respond, IsCancelledByItsNumber) {
  Heard heard;
  const int64_t number = begin(kChat, chat(R"(, "ignore_eos": true)"), heard);
  ASSERT_GT(number, 0);
  EXPECT_EQ(rz_session_cancel(session, number), 0);
  ASSERT_EQ(rz_session_wait(session), 0);
  EXPECT_EQ(heard.end.finish_reason, RZ_FINISH_CANCELLED);
  EXPECT_TRUE(heard.pieces.empty());
}

TEST_F(Respond, TheSessionsEndEndsIt) {
  Heard heard;
  ASSERT_GT(begin(kChat, chat(R"(, "stream": true, "ignore_eos": true)"), heard), 0);
  rz_session_free(session);
  session = nullptr;
  EXPECT_EQ(heard.n_ends, 1u);
}

}  // namespace
}  // namespace realizar::server
