#include "realizar/session.h"
#include "base/result_checks.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "realizar/constraint.h"
#include "realizar/engine.h"

namespace realizar {
namespace {

constexpr const char* kTinyModel = RZ_SOURCE_DIR "/models/realizar-tiny/realizar-tiny-Q8_0.gguf";
constexpr const char* kParis = "The capital of France is Paris.";

class SessionTest : public testing::Test {
 protected:
  void SetUp() override {
    model_ = std::make_unique<LanguageModel>(must(LanguageModel::load(
        kTinyModel,
        {.backend = BackendChoice::kCpu, .n_ctx = 256, .cpu = {.n_threads = 2}, .batch = {.max_seqs = 4}})));
  }

  Request greedy(const std::string& question = "What is the capital of France?") const {
    Request request;
    request.prompt = model_->chat_prompt({{"user", question}}).value();
    request.sampling.temperature = 0;
    request.max_tokens = 40;
    return request;
  }

  std::unique_ptr<LanguageModel> model_;
};

TEST_F(SessionTest, RequestsOfManyThreadsGiveWhatTheyGiveAlone) {
  std::vector<Request> requests;
  std::vector<std::string> alone;
  for (int i = 0; i < 8; ++i) {
    requests.push_back(greedy("Question " + std::to_string(i) + "?"));
    alone.push_back(model_->generate_text(requests.back())->text);
  }
  auto session = must(Session::open(*model_));
  std::vector<std::string> together(requests.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < requests.size(); ++i) {
    threads.emplace_back([&, i] { together[i] = session.ask(requests[i]).get()->text; });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(together, alone);
  session.wait();
  EXPECT_EQ(session.n_open(), 0u);
}

TEST_F(SessionTest, NoTokenComesAfterAStopString) {
  const TextOptions text{.stop = {" is"}};
  const auto alone = model_->generate_text(greedy(), text);
  ASSERT_EQ(alone->text, "The capital of France");
  auto session = must(Session::open(*model_));
  std::vector<std::future<Result<TextGeneration>>> answers;
  for (int i = 0; i < 20; ++i) answers.push_back(session.ask(greedy(), text));
  for (auto& answer : answers) {
    const auto result = answer.get();
    EXPECT_EQ(result->text, alone->text);
    EXPECT_EQ(result->tokens, alone->tokens);
    EXPECT_EQ(result->stats.n_generated, alone->stats.n_generated);
  }
}

TEST_F(SessionTest, CallbacksTellEveryTokenAndTheEnd) {
  auto session = must(Session::open(*model_));
  std::string text;
  std::vector<TokenId> tokens;
  std::optional<TextGeneration> end;
  const auto on_text = [&](const TextEvent& event) {
    text += event.text;
    if (event.token != nullptr) {
      EXPECT_EQ(event.token->index, tokens.size());
      EXPECT_TRUE(event.token->logprob.has_value());
      tokens.push_back(event.token->id);
    }
    return true;
  };
  Request request = greedy();
  request.logprobs = true;
  ASSERT_TRUE(session.submit(request, {}, on_text, [&](Result<TextGeneration> result) { end = *result; }).ok());
  session.wait();
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(text, kParis);
  EXPECT_EQ(end->text, kParis);
  EXPECT_EQ(end->tokens, tokens);
  EXPECT_EQ(end->finish_reason, FinishReason::kStop);
  EXPECT_EQ(end->stats.n_generated, tokens.size());
}

TEST_F(SessionTest, ARequestIsCancelledByItsCallbackItsNumberOrTheSession) {
  auto session = must(Session::open(*model_));
  Request endless = greedy();
  endless.ignore_eos = true;
  endless.max_tokens = std::nullopt;
  std::mutex mutex;
  std::vector<FinishReason> reasons;
  const auto on_end = [&](Result<TextGeneration> result) {
    const std::lock_guard lock(mutex);
    reasons.push_back(result->finish_reason);
  };
  ASSERT_TRUE(session
                  .submit(
                      endless, {}, [](const TextEvent&) { return false; }, on_end)
                  .ok());
  session.wait();
  EXPECT_EQ(reasons, std::vector{FinishReason::kCancelled});
  const auto id = must(session.submit(endless, {}, {}, on_end));
  session.cancel(id);
  session.cancel(RequestId{99});
  session.wait();
  EXPECT_EQ(reasons.size(), 2u);
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(session.submit(endless, {}, {}, on_end).ok());
  { const Session ended = std::move(session); }
  EXPECT_EQ(reasons.size(), 8u) << "every end was told";
  for (const FinishReason reason : reasons) {
    EXPECT_TRUE(reason == FinishReason::kCancelled || reason == FinishReason::kContext) << to_string(reason);
  }
  EXPECT_EQ(model_->generate_text(greedy())->text, kParis) << "the model is free again";
}

// The engine may be ahead by then, or may have ended the request itself.
TEST_F(SessionTest, ACallbackThatGivesFalseIsCalledNoMoreAndTheRequestIsCancelled) {
  auto session = must(Session::open(*model_));
  Request short_one = greedy();
  short_one.max_tokens = 2;
  for (const Request& request : {greedy(), short_one}) {
    for (const TextOptions& text : {TextOptions{}, TextOptions{.stop = {"The cap"}}, TextOptions{.stop = {" Zz"}}}) {
      int n_calls = 0, n_ends = 0;
      const auto refuse = [&](const TextEvent&) { return ++n_calls, false; };
      const auto on_end = [&](Result<TextGeneration> result) {
        ++n_ends;
        ASSERT_TRUE(result.ok()) << result.error().message;
        EXPECT_EQ(result->finish_reason, FinishReason::kCancelled);
        EXPECT_FALSE(result->stop_token.has_value());
        EXPECT_EQ(result->tokens.size(), 1u);
        EXPECT_EQ(result->stats.n_generated, 1u);
      };
      ASSERT_TRUE(session.submit(request, text, refuse, on_end).ok());
      session.wait();
      EXPECT_EQ(n_calls, 1);
      EXPECT_EQ(n_ends, 1);
    }
  }
}

TEST_F(SessionTest, ACallbackMaySubmitMore) {
  auto session = must(Session::open(*model_));
  std::string second;
  const auto ask_again = [&](const Result<TextGeneration>& first) {
    EXPECT_EQ(first->text, kParis);
    must(session.submit(greedy(), {}, {}, [&](Result<TextGeneration> result) { second = result->text; }));
  };
  ASSERT_TRUE(session.submit(greedy(), {}, {}, ask_again).ok());
  session.wait();
  EXPECT_EQ(second, kParis);
}

TEST_F(SessionTest, ACallbackOfACallCannotRunAnotherOne) {
  std::vector<ErrorCode> codes;
  const auto ask = [&] {
    const std::vector<Request> requests{greedy(), greedy()};
    const std::vector<TokenId> ids{TokenId{5}};
    const std::vector<std::string> texts{"text"};
    const auto note = [&](const auto& result) {
      ASSERT_FALSE(result.ok());
      EXPECT_EQ(result.error().subject, "model");
      codes.push_back(result.error().code);
    };
    note(model_->generate(greedy()));
    note(model_->generate_all(requests));
    note(model_->generate_text(greedy()));
    note(model_->generate_texts(requests, {}, {}));
    note(model_->embed(texts));
    note(model_->logits(ids, 1, 1));
    note(model_->load_adapter({}));
    note(model_->unload_adapter("none"));
    note(model_->use_adapter(""));
    note(model_->watch_products({}));
    note(model_->idle_step());
    note(Session::open(*model_));
    model_->clear_cache(true);
    model_->set_trace(true);
    model_->clear_trace();
    static_cast<void>(model_->has_idle_work());
    EXPECT_TRUE(model_->tokenize("Hello").ok());
    return true;
  };
  constexpr size_t kCalls = 12;
  const auto expect_refused = [&](size_t n_callbacks) {
    EXPECT_EQ(codes, std::vector(n_callbacks * kCalls, ErrorCode::kInvalidArgument));
    codes.clear();
  };
  const auto answer = must(model_->generate(greedy(), [&](const TokenEvent&) { return ask(); }));
  EXPECT_EQ(answer.tokens.size(), 9u);
  expect_refused(9);
  const auto text = model_->generate_text(greedy(), {.stop = {"Zz"}}, [&](const TextEvent&) { return ask(); });
  EXPECT_EQ(text->text, kParis);
  expect_refused(9);
  size_t n_ends = 0;
  const std::vector<Request> requests(6, greedy());
  const auto on_end = [&](size_t, const Result<TextGeneration>& result) {
    EXPECT_EQ(result->text, kParis);
    ask();
    ++n_ends;
  };
  ASSERT_TRUE(model_->generate_texts(requests, {}, on_end).ok());
  EXPECT_EQ(n_ends, 6u);
  expect_refused(6);
  ASSERT_TRUE(model_
                  ->watch_products([&, asked = false](const MatrixProduct&) mutable {
                    if (!std::exchange(asked, true)) ask();
                  })
                  .ok());
  EXPECT_EQ(model_->generate_text(greedy())->text, kParis);
  expect_refused(1);
  ASSERT_TRUE(model_->watch_products({}).ok());
  EXPECT_EQ(model_->generate_text(greedy())->text, kParis) << "the model is free again";
}

TEST_F(SessionTest, ACallbackOfASessionMayEndIt) {
  auto opened = must(Session::open(*model_));
  std::optional<Session> session = std::move(opened);
  EXPECT_FALSE(session->in_callback());
  std::promise<void> begun, ended;
  const auto on_end = [&](const Result<TextGeneration>&) {
    begun.get_future().wait();
    EXPECT_TRUE(session->in_callback());
    session->wait();
    session->clear_cache();
    session.reset();
    ended.set_value();
  };
  ASSERT_TRUE(session->submit(greedy(), {}, {}, on_end).ok());
  begun.set_value();
  ended.get_future().wait();
  while (!model_->generate(greedy()).ok()) std::this_thread::yield();
  EXPECT_TRUE(Session::open(*model_).ok()) << "the model is free again";
}

TEST_F(SessionTest, ErrorsAreThoseOfTheRequestAlone) {
  auto session = must(Session::open(*model_, {.max_queue = 1}));
  Request too_long = greedy();
  too_long.prompt.assign(300, TokenId{5});
  EXPECT_EQ(session.ask(too_long).get().error().code, ErrorCode::kContextLengthExceeded);
  Request wrong = greedy();
  wrong.sampling.top_p = 7;
  EXPECT_EQ(session.ask(wrong).get().error().subject, "top_p");
  EXPECT_EQ(session.ask(greedy(), {.tools_json = "{}"}).get().error().subject, "tools");
  must(session.submit(
      greedy(), {}, [](const TextEvent&) -> bool { throw std::runtime_error("no"); },
      [](const Result<TextGeneration>& result) { EXPECT_EQ(result.error().code, ErrorCode::kInternal); }));
  session.wait();
  Request endless = greedy();
  endless.ignore_eos = true;
  endless.max_tokens = std::nullopt;
  std::promise<void> release;
  const auto held = [released = release.get_future().share()](const TextEvent&) {
    released.wait();
    return false;
  };
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(session.submit(endless, {}, held, {}).ok()) << "four run, and one waits";
  const auto sixth = session.submit(endless, {}, held, {});
  ASSERT_FALSE(sixth.ok());
  EXPECT_EQ(sixth.error().code, ErrorCode::kResourceExhausted);
  release.set_value();
}

TEST_F(SessionTest, HasTheModelForItself) {
  model_->cancel();
  auto session = must(Session::open(*model_));
  EXPECT_EQ(Session::open(*model_).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(model_->generate(greedy()).error().subject, "model");
  EXPECT_EQ(model_->generate_text(greedy()).error().subject, "model");
  EXPECT_EQ(model_->generate_all({}).error().subject, "model");
  const std::vector<TokenId> one{TokenId{5}};
  EXPECT_EQ(model_->logits(one, 1, 1).error().subject, "model");
  EXPECT_TRUE(model_->tokenize("Hello").ok());
  model_->cancel();
  session.clear_cache();
  const auto first = session.ask(greedy()).get();
  EXPECT_EQ(first->stats.n_cached, 0u);
  EXPECT_GT(session.ask(greedy()).get()->stats.n_cached, 0u);
  session.clear_cache();
  EXPECT_EQ(session.ask(greedy()).get()->stats.n_cached, 0u);
}

TEST_F(SessionTest, AnswersAreHeldToASchemaOrAGrammar) {
  auto session = must(Session::open(*model_));
  Request request = greedy();
  const auto schema =
      json_schema_constraint(*model_, R"({"type": "object", "properties": {"n": {"enum": [12]}}, "required": ["n"]})");
  ASSERT_TRUE(schema.ok()) << schema.error().message;
  request.constraint = *schema;
  const auto document = must(session.ask(request).get());
  EXPECT_NE(document.text.find("12"), std::string::npos) << document.text;
  EXPECT_EQ(document.text.front(), '{');
  const auto grammar = must(gbnf_constraint(*model_, R"(root ::= "yes" | "no")", {.prompt = request.prompt}));
  for (int i = 0; i < 2; ++i) {
    request.constraint = grammar->clone();
    const std::string text = session.ask(request).get()->text;
    EXPECT_TRUE(text == "yes" || text == "no") << text;
  }
  EXPECT_EQ(gbnf_constraint(*model_, "root ::= (").error().code, ErrorCode::kInvalidArgument);
  const std::string unheld = R"({"type": "array", "uniqueItems": true})";
  EXPECT_FALSE(json_schema_constraint(*model_, unheld).ok());
  const auto relaxed = must(json_schema_constraint(*model_, unheld, {.relaxed = true}));
  EXPECT_EQ(relaxed->clone()->left_out(), std::vector<std::string>{"#/uniqueItems"});
}

}  // namespace
}  // namespace realizar
