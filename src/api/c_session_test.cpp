#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "realizar/realizar.h"

namespace {

constexpr const char* kSessionModel = RZ_SOURCE_DIR "/models/realizar-tiny/realizar-tiny-Q8_0.gguf";

// Records the callbacks of one request; they run on the session's thread, which wait() joins.
struct Told {
  std::string parts, text;
  int n_tokens = 0, n_ends = 0;
  rz_result result{};
};

int on_part(const rz_part* part, void* user) {
  auto* told = static_cast<Told*>(user);
  if (part->kind == RZ_CONTENT) told->parts.append(part->text, part->n_bytes);
  if (part->token != nullptr) ++told->n_tokens;
  return 1;
}

void on_end(const char* text, size_t n_bytes, const rz_result* result, void* user) {
  auto* told = static_cast<Told*>(user);
  told->text.assign(text, n_bytes);
  told->result = *result;
  ++told->n_ends;
}

class CSession : public testing::Test {
 protected:
  void SetUp() override {
    rz_load_options load{};
    load.struct_size = sizeof load;
    load.max_seqs = 4;
    load.n_ctx = 128;
    model_ = rz_load(kSessionModel, &load);
    ASSERT_NE(model_, nullptr) << rz_last_error();
    const rz_message message{"user", "What is the capital of France?"};
    ids_.resize(64);
    ids_.resize(static_cast<size_t>(rz_chat_prompt(model_, &message, 1, ids_.data(), ids_.size())));
    session_ = rz_session_open(model_, 0);
    ASSERT_NE(session_, nullptr) << rz_last_error();
  }
  void TearDown() override {
    rz_session_free(session_);
    rz_free(model_);
  }
  rz_request request() const {
    rz_request request{};
    request.struct_size = sizeof request;
    request.ids = ids_.data();
    request.n_ids = ids_.size();
    request.parameters = &kGreedy;
    request.n_parameters = 1;
    return request;
  }

  // Everything that is told of a request, until its end.
  Told answer(const rz_request& asked, int (*on_each)(const rz_part*, void*) = on_part) {
    Told told;
    EXPECT_GT(rz_session_submit(session_, &asked, on_each, on_end, &told), 0) << rz_last_error();
    EXPECT_EQ(rz_session_wait(session_), 0);
    return told;
  }

  static constexpr rz_parameter kGreedy{"temperature", 0};
  rz_model* model_ = nullptr;
  rz_session* session_ = nullptr;
  std::vector<int32_t> ids_;
};

TEST_F(CSession, ABudgetOfReasoningChangesNothingWhereNoneIsMarked) {
  Told free, bound;
  rz_request asked = request();
  ASSERT_GT(rz_session_submit(session_, &asked, on_part, on_end, &free), 0) << rz_last_error();
  asked.has_reasoning_budget = 1;
  asked.reasoning_budget = 1;
  ASSERT_GT(rz_session_submit(session_, &asked, on_part, on_end, &bound), 0) << rz_last_error();
  EXPECT_EQ(rz_session_wait(session_), 0);
  EXPECT_FALSE(free.text.empty());
  EXPECT_EQ(bound.text, free.text);
}

TEST_F(CSession, OnlyRerankersRank) {
  rz_request asked = request();
  asked.pooling = RZ_POOL_RANK;
  EXPECT_LT(rz_session_submit(session_, &asked, on_part, on_end, nullptr), 0);
  EXPECT_EQ(rz_last_error_code(), RZ_UNSUPPORTED);
  EXPECT_LT(rz_rank_prompt(model_, "query", "document", nullptr, 0), 0);
  EXPECT_EQ(rz_last_error_code(), RZ_UNSUPPORTED);
  EXPECT_LT(rz_rank_prompt(model_, nullptr, "document", nullptr, 0), 0);
  EXPECT_EQ(rz_last_error_code(), RZ_INVALID_ARGUMENT);
}

TEST_F(CSession, ReasoningIsPlannedForTheTemplate) {
  const auto plan = [&](int enabled, const char* effort, uint32_t tokens, int64_t& budget) {
    const rz_reasoning asked{sizeof(rz_reasoning), enabled, effort, tokens};
    std::string json(200, ' ');
    const int64_t n_bytes = rz_plan_reasoning(model_, &asked, json.data(), json.size(), &budget);
    return n_bytes < 0 ? std::string(rz_last_error()) : json.substr(0, static_cast<size_t>(n_bytes));
  };
  int64_t budget = 7;
  EXPECT_EQ(plan(0, nullptr, 0, budget), "{}");
  EXPECT_EQ(budget, -1);
  EXPECT_NE(plan(0, nullptr, 20, budget).find("\"thinking_budget\":20"), std::string::npos);
  EXPECT_EQ(budget, 20);
  EXPECT_NE(plan(-1, nullptr, 0, budget).find("\"enable_thinking\":false"), std::string::npos);
  EXPECT_EQ(budget, 0);
  EXPECT_NE(plan(0, "much", 0, budget).find("reasoning_effort: expected none"), std::string::npos);
  EXPECT_LT(rz_plan_reasoning(model_, nullptr, nullptr, 0, nullptr), 0);
}

TEST_F(CSession, BiasTenantAndSaltAreTheRequests) {
  std::vector<int32_t> long_prompt(100, 9);
  rz_request asked = request();
  asked.ids = long_prompt.data();
  asked.n_ids = long_prompt.size();
  asked.max_tokens = 1;
  EXPECT_EQ(answer(asked).result.n_cached, 0u);
  asked.tenant = 5;
  EXPECT_GT(answer(asked).result.n_cached, 0u) << "tenants share what is cached";
  asked.cache_salt = 1;
  EXPECT_EQ(answer(asked).result.n_cached, 0u);
  rz_request biased = request();
  const rz_logit_bias bias{7, 1000.0f};
  biased.logit_bias = &bias;
  biased.n_logit_bias = 1;
  biased.max_tokens = 2;
  char text[64];
  const int32_t expected[] = {7, 7};
  const int64_t n_bytes = rz_detokenize(model_, expected, 2, text, sizeof text);
  EXPECT_EQ(answer(biased).text, std::string(text, static_cast<size_t>(n_bytes)));
}

TEST_F(CSession, AnswersManyRequestsTogether) {
  std::vector<Told> told(6);
  const rz_request asked = request();
  for (Told& one : told) ASSERT_GT(rz_session_submit(session_, &asked, on_part, on_end, &one), 0) << rz_last_error();
  ASSERT_EQ(rz_session_wait(session_), 0);
  for (const Told& one : told) {
    EXPECT_EQ(one.n_ends, 1);
    EXPECT_EQ(one.text, "The capital of France is Paris.");
    EXPECT_EQ(one.parts, one.text);
    EXPECT_EQ(one.n_tokens, 9);
    EXPECT_EQ(one.result.finish_reason, RZ_FINISH_STOP);
  }
}

TEST_F(CSession, NoTokensAndSeedsOf64BitsAreAskedForByFieldsThatSaySo) {
  rz_request none = request();
  none.has_max_tokens = 1;
  const Told told = answer(none);
  EXPECT_EQ(told.n_tokens, 0);
  EXPECT_EQ(told.result.finish_reason, RZ_FINISH_LENGTH);
  constexpr rz_parameter hot[] = {{"temperature", 2}, {"seed", 7}};
  rz_request drawn = request();
  drawn.parameters = hot;
  drawn.n_parameters = 2;
  drawn.max_tokens = 20;
  const std::string of_seven = answer(drawn).text;
  drawn.has_seed = 1;
  drawn.seed = 7;
  EXPECT_EQ(answer(drawn).text, of_seven);
  drawn.seed = UINT64_MAX;
  const std::string of_last = answer(drawn).text;
  drawn.seed = UINT64_MAX - 1;
  EXPECT_NE(answer(drawn).text, of_last);
}

TEST_F(CSession, HoldsAnswersToAForm) {
  rz_request asked = request();
  asked.gbnf = "root ::= \"no\"";
  Told told = answer(asked, nullptr);
  EXPECT_EQ(told.text, "no");
  asked.json_schema = "{}";
  EXPECT_LT(rz_session_submit(session_, &asked, nullptr, on_end, &told), 0);
  asked.gbnf = nullptr;
  asked.json_schema = "{\"type\": 5}";
  EXPECT_LT(rz_session_submit(session_, &asked, nullptr, on_end, &told), 0);
  EXPECT_EQ(told.n_ends, 1) << "nothing that was refused has an end";
}

TEST_F(CSession, CancelsAndEndsAtTheDeadline) {
  rz_request endless = request();
  endless.ignore_eos = 1;
  Told cancelled, by_free;
  const int64_t id = rz_session_submit(session_, &endless, nullptr, on_end, &cancelled);
  ASSERT_GT(id, 0);
  EXPECT_EQ(rz_session_cancel(session_, id), 0);
  rz_session_wait(session_);
  EXPECT_EQ(cancelled.n_ends, 1);
  EXPECT_NE(cancelled.result.finish_reason, RZ_FINISH_STOP);
  endless.timeout_ms = 1;
  const std::vector<int32_t> long_prompt(120, 5);
  endless.ids = long_prompt.data();
  endless.n_ids = long_prompt.size();
  EXPECT_EQ(answer(endless, nullptr).result.finish_reason, RZ_FINISH_DEADLINE);
  endless.timeout_ms = 0;
  ASSERT_GT(rz_session_submit(session_, &endless, nullptr, on_end, &by_free), 0);
  rz_session_free(session_);
  session_ = nullptr;
  EXPECT_EQ(by_free.n_ends, 1);
  EXPECT_EQ(rz_generate(model_, ids_.data(), ids_.size(), nullptr, nullptr, nullptr) > 0, true) << rz_last_error();
}

TEST_F(CSession, IsCancelledByAPartThatIsRefused) {
  const auto refuse = [](const rz_part*, void* user) { return ++static_cast<Told*>(user)->n_tokens, 0; };
  rz_request asked = request();
  const char* stop[] = {"IX"};
  asked.stop = stop;
  for (asked.n_stop = 0; asked.n_stop < 2; ++asked.n_stop) {
    const Told told = answer(asked, refuse);
    EXPECT_EQ(told.n_tokens, 1);
    EXPECT_EQ(told.n_ends, 1);
    EXPECT_EQ(told.result.finish_reason, RZ_FINISH_CANCELLED);
  }
}

TEST_F(CSession, CannotBeAwaitedOrFreedByItsOwnCallbacks) {
  struct State {
    rz_model* model;
    rz_session* session;
    std::vector<int> codes;
  } state{model_, session_, {}};
  const auto end_all = [](const rz_part*, void* user) {
    auto* s = static_cast<State*>(user);
    const auto note = [s] { s->codes.push_back(rz_last_error_code()); };
    rz_session_wait(s->session);
    note();
    rz_session_free(s->session);
    note();
    rz_free(s->model);
    note();
    const int32_t id = 5;
    rz_generate(s->model, &id, 1, nullptr, nullptr, nullptr);
    note();
    return 0;
  };
  const rz_request asked = request();
  ASSERT_GT(rz_session_submit(session_, &asked, end_all, nullptr, &state), 0) << rz_last_error();
  EXPECT_EQ(rz_session_wait(session_), 0);
  EXPECT_EQ(state.codes, std::vector<int>(4, RZ_INVALID_ARGUMENT));
  rz_free(model_);
  EXPECT_EQ(rz_n_ctx(model_), 128) << "a model with a session stays";
}

TEST_F(CSession, MakesVectorsBesideAnswers) {
  struct Vector {
    std::vector<float> values;
    int code = RZ_OK;
  } by_session, refused;
  const auto keep = [](const char*, size_t, const rz_result* result, void* user) {
    auto* vector = static_cast<Vector*>(user);
    if (result->embedding != nullptr) vector->values.assign(result->embedding, result->embedding + result->n_embedding);
    vector->code = result->error_code;
  };
  rz_request asked = request();
  Told answer;
  asked.pooling = RZ_POOL_MEAN;
  ASSERT_GT(rz_session_submit(session_, &asked, on_part, keep, &by_session), 0) << rz_last_error();
  const rz_request text = request();
  ASSERT_GT(rz_session_submit(session_, &text, on_part, on_end, &answer), 0) << rz_last_error();
  rz_session_wait(session_);
  EXPECT_EQ(answer.text, "The capital of France is Paris.");
  EXPECT_EQ(answer.result.embedding, nullptr);
  asked.pooling = 9;
  EXPECT_LT(rz_session_submit(session_, &asked, on_part, keep, &refused), 0);
  EXPECT_NE(std::string(rz_last_error()).find("pooling"), std::string::npos);

  rz_session_free(session_);
  session_ = nullptr;
  std::vector<float> alone(by_session.values.size());
  ASSERT_GT(rz_embed(model_, ids_.data(), ids_.size(), RZ_POOL_MEAN, alone.data(), alone.size()), 0) << rz_last_error();
  EXPECT_EQ(by_session.values, alone);
  // A decoder's file does not state its pooling.
  std::vector<float> last(alone.size()), own(alone.size());
  rz_embed(model_, ids_.data(), ids_.size(), RZ_POOL_LAST, last.data(), last.size());
  rz_embed(model_, ids_.data(), ids_.size(), RZ_POOL_MODEL, own.data(), own.size());
  EXPECT_EQ(own, last);
  EXPECT_NE(own, alone);
}

TEST_F(CSession, LeavesOutOfASchemaWhatNoGrammarHolds) {
  rz_request asked = request();
  asked.json_schema = R"({"type": "array", "uniqueItems": true})";
  EXPECT_LT(rz_session_submit(session_, &asked, nullptr, nullptr, nullptr), 0);
  EXPECT_EQ(rz_last_error_code(), RZ_UNSUPPORTED);
  asked.relaxed_schema = 1;
  asked.max_tokens = 1;
  EXPECT_GT(rz_session_submit(session_, &asked, nullptr, nullptr, nullptr), 0) << rz_last_error();
  rz_session_wait(session_);
}

TEST_F(CSession, CallsToolsWhereItMust) {
  struct Calls {
    std::string name, arguments, content;
    int n_calls = 0, finish_reason = -1;
  } calls;
  const auto keep_call = [](const rz_part* part, void* user) {
    auto* kept = static_cast<Calls*>(user);
    const std::string text(part->text, part->n_bytes);
    if (part->kind == RZ_CALL_BEGIN) kept->name = text, ++kept->n_calls;
    if (part->kind == RZ_CALL_ARGUMENTS) kept->arguments += text;
    if (part->kind == RZ_CONTENT) kept->content += text;
    return 1;
  };
  const auto keep_end = [](const char*, size_t, const rz_result* result, void* user) {
    static_cast<Calls*>(user)->finish_reason = result->finish_reason;
  };
  rz_request asked = request();
  asked.tools_json = R"([{"type": "function", "function": {"name": "weather", "parameters": {
      "type": "object", "properties": {"city": {"enum": ["Paris"]}}, "required": ["city"]}}}])";
  asked.must_call = RZ_CALL_ONE;
  ASSERT_GT(rz_session_submit(session_, &asked, keep_call, keep_end, &calls), 0) << rz_last_error();
  rz_session_wait(session_);
  EXPECT_EQ(calls.name, "weather");
  EXPECT_EQ(calls.n_calls, 1);
  EXPECT_NE(calls.arguments.find("\"Paris\""), std::string::npos) << calls.arguments;
  EXPECT_EQ(calls.content, "");
  EXPECT_EQ(calls.finish_reason, RZ_FINISH_STOP);

  asked.gbnf = "root ::= \"no\"";
  EXPECT_LT(rz_session_submit(session_, &asked, keep_call, keep_end, &calls), 0);
  asked.gbnf = nullptr;
  asked.must_call = 3;
  EXPECT_LT(rz_session_submit(session_, &asked, keep_call, keep_end, &calls), 0);
  asked.must_call = RZ_CALL_SOME;
  asked.tools_json = "[]";
  EXPECT_LT(rz_session_submit(session_, &asked, keep_call, keep_end, &calls), 0);
  asked.tools_json = nullptr;
  EXPECT_LT(rz_session_submit(session_, &asked, keep_call, keep_end, &calls), 0);
}

TEST_F(CSession, GivesLogitsTracesAndAnEmptyCacheBesideItsRequests) {
  rz_request endless = request();
  endless.ignore_eos = 1;
  Told beside;
  ASSERT_GT(rz_session_submit(session_, &endless, on_part, on_end, &beside), 0);
  const auto n_vocab = static_cast<size_t>(rz_n_vocab(model_));
  std::vector<float> logits(n_vocab), alone(n_vocab);
  const auto n_ids = static_cast<uint32_t>(ids_.size());
  ASSERT_EQ(rz_session_set_trace(session_, 1), 0) << rz_last_error();
  ASSERT_GT(rz_session_logits(session_, ids_.data(), n_ids, n_ids, 1, logits.data(), n_vocab), 0) << rz_last_error();
  rz_trace_totals totals{};
  totals.struct_size = sizeof totals;
  EXPECT_EQ(rz_get_trace_totals(model_, &totals), 0);
  EXPECT_GE(totals.prefill.n_steps, 1u);
  EXPECT_EQ(rz_session_set_trace(session_, 0), 0);
  EXPECT_EQ(rz_clear_trace(model_), 0);
  rz_session_wait(session_);
  EXPECT_EQ(beside.n_ends, 1);
  EXPECT_EQ(beside.result.finish_reason, RZ_FINISH_CONTEXT);
  EXPECT_EQ(rz_session_clear_cache(session_), 0);
  EXPECT_EQ(answer(request()).result.n_cached, 0u);
  rz_session_free(session_);
  session_ = nullptr;
  ASSERT_GT(rz_logits(model_, ids_.data(), n_ids, n_ids, 1, alone.data(), n_vocab), 0);
  EXPECT_EQ(logits, alone);
}

TEST_F(CSession, HasTheModelForItself) {
  EXPECT_EQ(rz_session_open(model_, 0), nullptr);
  EXPECT_LT(rz_generate(model_, ids_.data(), ids_.size(), nullptr, nullptr, nullptr), 0);
  EXPECT_EQ(rz_last_error_code(), RZ_INVALID_ARGUMENT);
  EXPECT_EQ(rz_n_ctx(model_), 128);
}

TEST_F(CSession, NullPointersAreErrors) {
  const rz_request asked = request();
  EXPECT_LT(rz_session_submit(nullptr, &asked, nullptr, nullptr, nullptr), 0);
  EXPECT_LT(rz_session_submit(session_, nullptr, nullptr, nullptr, nullptr), 0);
  rz_request no_ids = asked;
  no_ids.ids = nullptr;
  EXPECT_LT(rz_session_submit(session_, &no_ids, nullptr, nullptr, nullptr), 0);
  EXPECT_NE(std::string(rz_last_error()).find("ids"), std::string::npos);
  rz_request no_size = asked;
  no_size.struct_size = 0;
  EXPECT_LT(rz_session_submit(session_, &no_size, nullptr, nullptr, nullptr), 0);
  EXPECT_EQ(rz_session_open(nullptr, 0), nullptr);
  EXPECT_LT(rz_session_cancel(nullptr, 1), 0);
  EXPECT_LT(rz_session_wait(nullptr), 0);
  rz_session_free(nullptr);
}

}  // namespace
