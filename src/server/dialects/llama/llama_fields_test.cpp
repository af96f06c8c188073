#include "server/dialects/llama/llama_fields.h"

#include <gtest/gtest.h>

#include "server/call/dialect_test_rig.h"
#include "server/call/llama_prompts.h"
#include "server/call/protocol.h"

namespace realizar::server {
namespace {

using Prompts = std::vector<std::vector<TokenId>>;

class LlamaRequests : public DialectTest {
 protected:
  static Result<LlamaFields> read(const std::string& body) {
    return read_llama_fields(*parse_json(body), rig_->model(), rig_->context);
  }
  static std::string wrong_field(const std::string& body) { return field_of(read(body)); }
  static Result<LlamaPrompts> read_prompts_of(const std::string& prompt) {
    const Json body = *parse_json(R"({"prompt": )" + prompt + "}");
    return read_llama_prompts(Fields(body), rig_->model(), rig_->context);
  }
  static std::vector<TokenId> tokens_of(const std::string& text) { return rig_->model().tokenizer().encode(text); }
};

TEST_F(LlamaRequests, AreReadUnderTheirNames) {
  const auto fields = read(R"({"n_predict": 7, "n_probs": 3, "n_cmpl": 2, "n_indent": 4, "t_max_predict_ms": 50,
      "n_keep": -1, "id_slot": 1, "return_tokens": true, "timings_per_token": true, "return_progress": true,
      "seed": 5, "stop": ["x"], "temperature": 0.5, "grammar": "root ::= \"a\"",
      "response_fields": ["content", "timings/prompt_n"]})");
  ASSERT_TRUE(fields.ok()) << fields.error().message;
  const Request& request = fields->generation.request;
  EXPECT_EQ(request.max_tokens, 7u);
  EXPECT_EQ(request.n_logprobs, 3u);
  EXPECT_TRUE(request.logprobs);
  EXPECT_NE(request.constraint, nullptr);
  EXPECT_EQ(fields->generation.n, 2u);
  EXPECT_EQ(fields->lines.n_indent, 4u);
  EXPECT_EQ(fields->lines.max_ms, 50u);
  EXPECT_EQ(fields->generation.id_slot, 1);
  EXPECT_TRUE(fields->return_tokens && fields->extras.timings && fields->extras.progress);
  EXPECT_EQ(fields->response_fields, (std::vector<std::string>{"content", "timings/prompt_n"}));
  const Json& settings = fields->settings;
  EXPECT_EQ(settings["seed"], 5);
  EXPECT_EQ(settings["temperature"], 0.5);
  EXPECT_EQ(settings["n_predict"], 7);
  EXPECT_EQ(settings["n_keep"], -1);
  EXPECT_EQ(settings["stop"], Json::array({"x"}));
  EXPECT_EQ(settings["grammar"], "root ::= \"a\"");
}

TEST_F(LlamaRequests, AreToldTheirSamplersInOrder) {
  const auto usual = read("{}"), own = read(R"({"samplers": ["typical", "top-k", "temp"], "xtc_probability": 0.5})");
  ASSERT_TRUE(usual.ok() && own.ok());
  EXPECT_EQ(usual->settings["samplers"],
            Json::array({"penalties", "dry", "top_n_sigma", "temperature", "top_k", "typ_p", "top_p", "min_p", "xtc"}));
  EXPECT_EQ(own->settings["samplers"], Json::array({"typ_p", "top_k", "temperature"}));
  EXPECT_EQ(own->settings["xtc_probability"], 0.5);
}

TEST_F(LlamaRequests, HaveNoLimitAndARandomSeedUnlessTheySaySo) {
  EXPECT_EQ(read(R"({"seed": 18446744073709551615})")->generation.request.sampling.seed, UINT64_MAX);
  const auto first = read("{}"), second = read(R"({"seed": -1, "n_predict": -1})");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(second->generation.request.max_tokens, std::nullopt);
  EXPECT_EQ(second->settings["n_predict"], -1);
  EXPECT_NE(first->generation.request.sampling.seed, second->generation.request.sampling.seed);
  EXPECT_LT(first->generation.request.sampling.seed, uint64_t{1} << 32) << "JavaScript can send it back";
}

TEST_F(LlamaRequests, ShareNoPrefixWhereTheCacheIsNotWanted) {
  const auto salt = [](const std::string& body) { return read(body)->generation.request.cache_salt; };
  EXPECT_EQ(salt("{}"), salt(R"({"cache_prompt": true})"));
  EXPECT_NE(salt(R"({"cache_prompt": false})"), salt(R"({"cache_prompt": false})"));
}

TEST_F(LlamaRequests, BiasTokensInEverySpelling) {
  using Biases = std::vector<std::pair<TokenId, float>>;
  const auto biases = [](const std::string& given) {
    return read(R"({"logit_bias": )" + given + "}")->generation.request.sampling.logit_bias;
  };
  const std::vector<TokenId> text =
      rig_->model().tokenizer().encode(" a", {.add_special = false, .parse_special = false});
  EXPECT_EQ(biases("[[5, 1.5], [6, -2]]"), (Biases{{TokenId{5}, 1.5f}, {TokenId{6}, -2.0f}}));
  EXPECT_EQ(biases(R"({"5": 1.5})"), (Biases{{TokenId{5}, 1.5f}}));
  EXPECT_EQ(biases(R"([[" a", -3]])").front().first, text.front());
  EXPECT_EQ(biases(R"({" a": -3})").front().first, text.front());
  const auto never = read(R"({"logit_bias": [[5, false]]})");
  EXPECT_EQ(never->generation.rules.bad_words, (Prompts{{TokenId{5}}}));
  EXPECT_NE(never->generation.request.constraint, nullptr);
  for (const char* wrong :
       {"7", "[7]", "[[1]]", "[[-1, 2]]", R"([[1, "x"]])", "[[1, true]]", "[[1, 1e9]]", "[[[], 2]]"}) {
    EXPECT_EQ(wrong_field(std::string(R"({"logit_bias": )") + wrong + "}"), "logit_bias") << wrong;
  }
}

TEST_F(LlamaRequests, AreRefusedByTheFieldThatIsWrong) {
  for (const char* field : {"n_probs", "n_indent", "t_max_predict_ms", "n_keep", "id_slot", "return_tokens",
                            "response_fields", "cache_prompt", "timings_per_token", "return_progress", "n_predict",
                            "post_sampling_probs", "temperature", "stop"}) {
    EXPECT_EQ(wrong_field(std::string(R"({")") + field + R"(": {"a": 1}})"), field);
  }
  EXPECT_EQ(wrong_field(R"({"n_probs": 101})"), "n_probs");
  EXPECT_EQ(wrong_field(R"({"response_fields": ["content", 1]})"), "response_fields");
}

TEST_F(LlamaRequests, TakePromptsInEveryForm) {
  const auto text = tokens_of("In the beginning");
  const auto one = read_prompts_of(R"("In the beginning")");
  ASSERT_TRUE(one.ok());
  EXPECT_FALSE(one->is_list);
  EXPECT_EQ(one->prompts, Prompts{text});
  EXPECT_EQ(read_prompts_of(R"({"prompt_string": "In the beginning"})")->prompts, Prompts{text});
  EXPECT_EQ(read_prompts_of(R"({"prompt_string": "In the beginning", "multimodal_data": []})")->prompts, Prompts{text});

  const auto several = read_prompts_of(R"(["In the beginning", [5, 6], {"prompt_string": "In the beginning"}])");
  ASSERT_TRUE(several.ok());
  EXPECT_TRUE(several->is_list);
  EXPECT_EQ(several->prompts, (Prompts{text, {TokenId{5}, TokenId{6}}, text}));
  EXPECT_TRUE(read_prompts_of(R"(["a"])")->is_list);

  const auto mixed = read_prompts_of(R"([5, "In the beginning", 6])");
  ASSERT_TRUE(mixed.ok());
  EXPECT_FALSE(mixed->is_list);
  std::vector<TokenId> expected{TokenId{5}};
  const auto after = rig_->model().tokenizer().encode("In the beginning", {.add_special = false});
  expected.insert(expected.end(), after.begin(), after.end());
  expected.push_back(TokenId{6});
  EXPECT_EQ(mixed->prompts, Prompts{expected});
}

TEST_F(LlamaRequests, RefuseWhatIsNoPrompt) {
  for (const char* prompt : {"null", "7", "true", "[]", "[[]]", "[5, -1]", "[5, true]", "[5, [6]]", "[null]", "{}",
                             R"({"prompt_string": 5})", R"(["a", 5.5])"}) {
    const auto read = read_prompts_of(prompt);
    ASSERT_FALSE(read.ok()) << prompt;
    EXPECT_EQ(read.error().subject.substr(0, 6), "prompt") << prompt;
  }
  EXPECT_EQ(read_prompts_of(R"({"prompt_string": "a", "multimodal_data": ["aGk="]})").error().code,
            ErrorCode::kUnsupported);
  std::string ids = "5";
  for (int i = 0; i < 1500; ++i) ids += ", 5";
  const auto long_list = read_prompts_of("[[5], [" + ids + "]]");
  ASSERT_FALSE(long_list.ok());
  EXPECT_EQ(long_list.error().code, ErrorCode::kContextLengthExceeded);
}

TEST(LlamaError, HasTheStatusAsItsCode) {
  EXPECT_EQ(llama_error_response(bad_request("no", "prompt")).body,
            R"({"error":{"code":400,"message":"no","type":"invalid_request_error"}})");
  EXPECT_EQ(llama_error_response({503, "later", "", "model_loading"}).body,
            R"({"error":{"code":503,"message":"later","type":"unavailable_error"}})");
  const HttpResponse response = llama_error_response({401, "no key", "", ""});
  EXPECT_EQ(response.status, 401);
  EXPECT_EQ(response.body, R"({"error":{"code":401,"message":"no key","type":"authentication_error"}})");
  EXPECT_FALSE(response.headers.empty()) << "what the status wants stays";
}

TEST(LlamaError, TellsTheNumbersOfALongPrompt) {
  const ApiError error = to_api_error(context_length_exceeded("too long", "prompt", 9, 8));
  EXPECT_EQ(llama_error_response(error).body,
            R"({"error":{"code":400,"message":"too long","type":"exceed_context_size_error",)"
            R"("n_prompt_tokens":9,"n_ctx":8}})");
}

}  // namespace
}  // namespace realizar::server
