#include "server/call/request_fields.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/try.h"
#include "server/call/dialect_test_rig.h"

namespace realizar::server {
namespace {

class RequestFields : public DialectTest {
 protected:
  ~RequestFields() override { rig_->context.request_timeout_ms = 0; }

  static Result<GenerationFields> read(const std::string& body, const KeyDigest& key = {}) {
    const Json json = *parse_json(body);
    Fields fields(json);
    const RequestContext context = rig_->context_of(key);
    GenerationReading asked(rig_->model(), context);
    RZ_CHECK_OK(read_generation_fields(fields, asked));
    RZ_CHECK_OK(asked.finish_generation());
    return std::move(asked.generation);
  }
  static Request request(const std::string& body, const KeyDigest& key = {}) { return read(body, key)->request; }
  static std::string wrong_field(const std::string& body) { return field_of(read(body)); }
};

TEST_F(RequestFields, SeedsHave64Bits) {
  EXPECT_EQ(request(R"({"seed": 18446744073709551615})").sampling.seed, UINT64_MAX);
  EXPECT_EQ(request(R"({"seed": 9223372036854775808})").sampling.seed, uint64_t{1} << 63);
  EXPECT_EQ(request(R"({"seed": -1})").sampling.seed, UINT64_MAX);
  EXPECT_EQ(wrong_field(R"({"seed": 18446744073709551616})"), "seed");
  EXPECT_EQ(wrong_field(R"({"seed": 1.5})"), "seed");
}

TEST_F(RequestFields, AreReadIntoTheRequest) {
  const auto fields = read(R"({"temperature": 0.5, "top_p": 0.9, "top_k": 7, "min_p": 0.1, "typical_p": 0.8,
      "repetition_penalty": 1.1, "repeat_last_n": 9, "frequency_penalty": -1, "presence_penalty": 2, "seed": -3,
      "logit_bias": {"5": -100, "6": 1.5}, "stop": ["a", "", "b"], "stop_token_ids": [3], "max_tokens": 12, "n": 4,
      "stream": true, "stream_options": {"include_usage": true}, "ignore_eos": true, "priority": -2, "timeout": 1.5})");
  ASSERT_TRUE(fields.ok()) << fields.error().message;
  const Request& request = fields->request;
  EXPECT_FLOAT_EQ(request.sampling.temperature, 0.5f);
  EXPECT_FLOAT_EQ(request.sampling.top_p, 0.9f);
  EXPECT_EQ(request.sampling.top_k, 7);
  EXPECT_FLOAT_EQ(request.sampling.min_p, 0.1f);
  EXPECT_FLOAT_EQ(request.sampling.typical_p, 0.8f);
  EXPECT_FLOAT_EQ(request.sampling.repeat_penalty, 1.1f);
  EXPECT_EQ(request.sampling.repeat_last_n, 9);
  EXPECT_FLOAT_EQ(request.sampling.frequency_penalty, -1);
  EXPECT_FLOAT_EQ(request.sampling.presence_penalty, 2);
  EXPECT_EQ(request.sampling.seed, static_cast<uint64_t>(-3));
  EXPECT_EQ(request.sampling.logit_bias,
            (std::vector<std::pair<TokenId, float>>{{TokenId{5}, -100}, {TokenId{6}, 1.5f}}));
  EXPECT_EQ(fields->stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(request.stop_tokens, std::vector{TokenId{3}});
  EXPECT_EQ(request.max_tokens, 12u);
  EXPECT_EQ(fields->n, 4u);
  EXPECT_TRUE(fields->stream);
  EXPECT_TRUE(fields->include_usage);
  EXPECT_TRUE(request.ignore_eos);
  EXPECT_EQ(request.priority, -2);
  EXPECT_EQ(request.timeout_ms, 1500u);
}

TEST_F(RequestFields, EveryParameterIsAField) {
  for (const SamplingParameter& parameter : kSamplingParameters) {
    for (const std::string_view field : {parameter.name, parameter.other_field}) {
      if (field.empty()) continue;
      const SamplingParams params = request("{\"" + std::string(field) + "\": 1}").sampling;
      visit_parameter(parameter, params, [&](auto value) { EXPECT_EQ(value, 1) << field; });
    }
  }
  EXPECT_EQ(request(R"({"top_k": -1})").sampling.top_k, 0);
  EXPECT_EQ(request(R"({"repetition_penalty": 2, "repeat_penalty": 3})").sampling.repeat_penalty, 3);
}

TEST_F(RequestFields, SamplersAreNamedOrSpelt) {
  const std::vector<SamplerKind> expected = {SamplerKind::kTopK, SamplerKind::kTemperature};
  EXPECT_EQ(request(R"({"samplers": ["top_k", "tfs_z", "temperature"]})").sampling.samplers, expected);
  EXPECT_EQ(request(R"({"samplers": "kt"})").sampling.samplers, expected);
  EXPECT_EQ(request(R"({"samplers": []})").sampling.samplers, std::vector<SamplerKind>());
  EXPECT_EQ(request("{}").sampling.samplers, std::nullopt);
  EXPECT_EQ(request(R"({"samplers": null})").sampling.samplers, std::nullopt);
}

TEST_F(RequestFields, BreakersBecomeTokens) {
  EXPECT_EQ(request(R"({"dry_multiplier": 0.8})").sampling.dry_breakers, nullptr);
  const auto breakers = request(R"({"dry_sequence_breakers": ["\n", "Paris"]})").sampling.dry_breakers;
  ASSERT_NE(breakers, nullptr);
  EXPECT_EQ(request(R"({"dry_sequence_breakers": ["\n", "Paris"]})").sampling.dry_breakers, breakers);
  EXPECT_NE(request(R"({"dry_sequence_breakers": ["\n"]})").sampling.dry_breakers, breakers);
  EXPECT_NE(request(R"({"dry_sequence_breakers": []})").sampling.dry_breakers, nullptr);
}

TEST_F(RequestFields, AbsentOnesKeepTheModelsRecommendation) {
  const auto fields = read("{}");
  ASSERT_TRUE(fields.ok());
  const SamplingParams& recommended = rig_->model().loaded->generation_config.sampling;
  EXPECT_EQ(fields->request.sampling.temperature, recommended.temperature);
  EXPECT_EQ(fields->request.sampling.top_k, recommended.top_k);
  EXPECT_EQ(fields->request.max_tokens, std::nullopt);
  EXPECT_EQ(fields->request.timeout_ms, std::nullopt);
  EXPECT_EQ(fields->n, 1u);
  EXPECT_FALSE(fields->stream);
  EXPECT_NE(request("{}").sampling.seed, request("{}").sampling.seed);
}

TEST_F(RequestFields, EachWrongTypeIsNamed) {
  const std::pair<const char*, const char*> wrong[] = {{"temperature", "\"hot\""},
                                                       {"top_k", "1.5"},
                                                       {"top_k", "-2"},
                                                       {"top_p", "true"},
                                                       {"min_p", "[]"},
                                                       {"typical_p", "{}"},
                                                       {"repetition_penalty", "\"x\""},
                                                       {"repeat_penalty", "\"x\""},
                                                       {"repeat_last_n", "-2"},
                                                       {"frequency_penalty", "\"x\""},
                                                       {"presence_penalty", "\"x\""},
                                                       {"samplers", "5"},
                                                       {"samplers", "[5]"},
                                                       {"samplers", "[\"warm\"]"},
                                                       {"samplers", "\"kq\""},
                                                       {"mirostat", "3"},
                                                       {"mirostat", "0.5"},
                                                       {"mirostat_tau", "-1"},
                                                       {"dry_multiplier", "-1"},
                                                       {"dry_base", "0.5"},
                                                       {"dry_allowed_length", "-1"},
                                                       {"dry_penalty_last_n", "-2"},
                                                       {"dry_sequence_breakers", "\"x\""},
                                                       {"dry_sequence_breakers", "[5]"},
                                                       {"dry_sequence_breakers", "[\"\"]"},
                                                       {"xtc_probability", "1.1"},
                                                       {"xtc_threshold", "-0.1"},
                                                       {"dynatemp_range", "-0.1"},
                                                       {"top_n_sigma", "\"x\""},
                                                       {"seed", "0.5"},
                                                       {"seed", "1e30"},
                                                       {"logit_bias", "7"},
                                                       {"logit_bias", "[7]"},
                                                       {"logit_bias", "[[1]]"},
                                                       {"logit_bias", R"({"-1": 1})"},
                                                       {"logit_bias", R"({"1": true})"},
                                                       {"logit_bias", R"({"1": 101})"},
                                                       {"logit_bias", R"({"1": "a"})"},
                                                       {"logit_bias", R"({"99999999999": 1})"},
                                                       {"stop", "5"},
                                                       {"stop", "[5]"},
                                                       {"stop", "{}"},
                                                       {"stop_token_ids", "5"},
                                                       {"stop_token_ids", "[1.5]"},
                                                       {"stop_token_ids", "[4294967296]"},
                                                       {"max_tokens", "-2"},
                                                       {"max_tokens", "\"x\""},
                                                       {"max_completion_tokens", "2147483648"},
                                                       {"n_predict", "-3"},
                                                       {"min_tokens", "-1"},
                                                       {"allowed_token_ids", "5"},
                                                       {"allowed_token_ids", "[]"},
                                                       {"allowed_token_ids", "[2048]"},
                                                       {"allowed_token_ids", "[-1]"},
                                                       {"bad_words", "\"x\""},
                                                       {"bad_words", "[5]"},
                                                       {"bad_words", "[\"\"]"},
                                                       {"timeout", "0"},
                                                       {"timeout", "1e9"},
                                                       {"timeout_ms", "0"},
                                                       {"timeout_ms", "1.5"},
                                                       {"n", "0"},
                                                       {"n", "129"},
                                                       {"stream", "1"},
                                                       {"ignore_eos", "\"x\""},
                                                       {"priority", "3e9"},
                                                       {"cache_salt", "5"},
                                                       {"stream_options", "5"}};
  for (const auto& [name, value] : wrong) {
    EXPECT_EQ(wrong_field(std::string("{\"") + name + "\": " + value + "}"), name) << value;
  }
  EXPECT_EQ(wrong_field(R"({"stream_options": {"include_usage": 1}})"), "stream_options.include_usage");
}

TEST_F(RequestFields, MinusOneIsNoLimit) {
  for (const char* body : {R"({"max_tokens": -1})", R"({"max_completion_tokens": -1})", R"({"n_predict": -1})",
                           R"({"n_predict": -2})", R"({"n_predict": 7, "max_tokens": -1})"}) {
    EXPECT_EQ(request(body).max_tokens, std::nullopt) << body;
    EXPECT_TRUE(read(body)->has_limit) << body;
  }
  EXPECT_EQ(request(R"({"n_predict": 7})").max_tokens, 7u);
  EXPECT_FALSE(read(R"({"max_tokens": null})")->has_limit);
}

TEST_F(RequestFields, RulesForSingleTokensAreRead) {
  const auto& ends = rig_->model().loaded->generation_config.end_tokens;
  const TokenRules rules = read(R"({"min_tokens": 3, "max_tokens": 3, "stop_token_ids": [9],
                                    "allowed_token_ids": [5, 6], "bad_words": ["Paris"]})")
                               ->rules;
  EXPECT_EQ(rules.min_tokens, 3u);
  EXPECT_EQ(rules.allowed, (std::vector<TokenId>{TokenId{5}, TokenId{6}}));
  EXPECT_EQ(rules.ends.size(), 1 + ends.size());
  const auto encode = [](const char* text) {
    return rig_->model().tokenizer().encode(text, {.add_special = false, .parse_special = false});
  };
  EXPECT_EQ(rules.bad_words, (std::vector{encode("Paris"), encode(" Paris")}));
  EXPECT_TRUE(read(R"({"ignore_eos": true})")->rules.ends.empty());
  EXPECT_TRUE(read("{}")->rules.is_empty());
  EXPECT_EQ(wrong_field(R"({"min_tokens": 4, "max_tokens": 3})"), "min_tokens");
}

TEST_F(RequestFields, ValuesBeyondTheirRangeAreNamed) {
  for (const char* body :
       {R"({"temperature": -1})", R"({"temperature": 1e300})", R"({"top_p": -0.1})", R"({"top_p": 1.1})",
        R"({"min_p": 2})", R"({"frequency_penalty": 2.1})", R"({"presence_penalty": -2.1})",
        R"({"repetition_penalty": 0})", R"({"logit_bias": {"2048": 1}})", R"({"logit_bias": {"-1": 1}})"}) {
    const auto fields = read(body);
    ASSERT_FALSE(fields.ok()) << body;
    EXPECT_EQ(fields.error().code, ErrorCode::kInvalidArgument) << body;
    EXPECT_NE(fields.error().subject, "") << body;
  }
}

TEST_F(RequestFields, ErrorsHaveTheNameThatTheClientGave) {
  EXPECT_EQ(wrong_field(R"({"repetition_penalty": 0})"), "repetition_penalty");
  EXPECT_EQ(wrong_field(R"({"repeat_penalty": 0})"), "repeat_penalty");
  EXPECT_EQ(read(R"({"repetition_penalty": 0})").error().message,
            "repetition_penalty: expected a finite number above 0, actual 0");
}

TEST_F(RequestFields, TheServersTimeoutIsTheMost) {
  rig_->context.request_timeout_ms = 2000;
  EXPECT_EQ(request("{}").timeout_ms, 2000u);
  EXPECT_EQ(request(R"({"timeout": 1})").timeout_ms, 1000u);
  EXPECT_EQ(request(R"({"timeout": 3})").timeout_ms, 2000u);
  EXPECT_EQ(request(R"({"timeout_ms": 1500})").timeout_ms, 1500u);
  EXPECT_EQ(request(R"({"timeout_ms": 1500, "timeout": 1})").timeout_ms, 1000u);
  EXPECT_EQ(request(R"({"timeout_ms": 2500})").timeout_ms, 2000u);
}

TEST_F(RequestFields, KeysAndSaltsShareNoPrefixes) {
  std::set<uint64_t> salts;
  for (const KeyDigest& key : {KeyDigest{}, digest_of("one"), digest_of("another")}) {
    EXPECT_EQ(request("{}", key).tenant, tenant_of(key));
    for (const char* body : {"{}", R"({"cache_salt": "a"})", R"({"cache_salt": "b"})"}) {
      EXPECT_TRUE(salts.insert(request(body, key).cache_salt).second) << body;
      EXPECT_EQ(request(body, key).cache_salt, request(body, key).cache_salt);
    }
  }
}

// Nobody outside of the process can compute a salt that collides with another key's.
TEST_F(RequestFields, SaltsDependOnASecretOfTheProcess) {
  ServedModelRig other(RZ_SOURCE_DIR "/models/realizar-tiny/realizar-tiny-Q8_0.gguf");
  ASSERT_TRUE(other.is_ready());
  EXPECT_NE(cache_salt_of({}, rig_->model()), cache_salt_of({}, other.model()));
}

TEST_F(RequestFields, ChoicesDifferInTheirSeedAlone) {
  const Request first = request(R"({"seed": 1, "max_tokens": 5})");
  EXPECT_EQ(nth_request(first, 0).sampling.seed, 1u);
  EXPECT_NE(nth_request(first, 1).sampling.seed, nth_request(first, 2).sampling.seed);
  EXPECT_EQ(nth_request(first, 1).max_tokens, 5u);
}

TEST(RandomId, IsDifferentEachTime) {
  EXPECT_EQ(random_id("req_").size(), 28u);
  EXPECT_EQ(random_id("req_").rfind("req_", 0), 0u);
  EXPECT_NE(random_id(""), random_id(""));
}

}  // namespace
}  // namespace realizar::server
