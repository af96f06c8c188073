#include "server/http/api_error.h"

#include <gtest/gtest.h>

#include <new>
#include <nlohmann/json.hpp>

#include "base/caught.h"
#include "server/http/json.h"

namespace realizar::server {
namespace {

struct Case {
  ErrorCode code;
  int status;
  const char* type;
  const char* api_code;
};

TEST(ApiError, WhatIsNotThereIsToldByWhatItIs) {
  const auto told = [](const char* subject) { return to_api_error(not_found("there is none", subject)); };
  EXPECT_EQ(told("model").status, 404);
  EXPECT_EQ(told("model").code, "model_not_found");
  EXPECT_EQ(told("input[0].id").status, 404);
  EXPECT_EQ(told("input[0].id").code, "not_found");
  EXPECT_EQ(told("previous_response_id").status, 400);
  EXPECT_EQ(told("previous_response_id").code, "previous_response_not_found");
}

TEST(ApiError, EveryErrorHasItsStatusTypeAndCode) {
  const Case cases[] = {
      {ErrorCode::kInvalidArgument, 400, "invalid_request_error", ""},
      {ErrorCode::kFormatError, 400, "invalid_request_error", ""},
      {ErrorCode::kUnsupported, 400, "invalid_request_error", ""},
      {ErrorCode::kNotFound, 404, "invalid_request_error", "not_found"},
      {ErrorCode::kContextLengthExceeded, 400, "exceed_context_size_error", "context_length_exceeded"},
      {ErrorCode::kResourceExhausted, 429, "rate_limit_error", "rate_limit_exceeded"},
      {ErrorCode::kCancelled, 499, "invalid_request_error", "cancelled"},
      {ErrorCode::kInternal, 500, "server_error", "internal_error"},
  };
  for (const Case& c : cases) {
    const ApiError error = to_api_error(Error{c.code, "what went wrong", ""});
    EXPECT_EQ(error.status, c.status) << to_string(c.code);
    EXPECT_EQ(error.message, "what went wrong");
    EXPECT_EQ(error.code, c.api_code) << to_string(c.code);
    EXPECT_EQ((*parse_json(error_json(error)))["error"]["type"], c.type) << to_string(c.code);
  }
}

TEST(ApiError, NamesTheFieldOfAWrongRequest) {
  EXPECT_EQ(to_api_error(invalid_argument("wrong", "top_p")).param, "top_p");
}

TEST(ApiError, ATooLongPromptHasItsNumbersAsFields) {
  const ApiError error = to_api_error(context_length_exceeded("too long", "prompt", 1025, 1024));
  EXPECT_EQ(error_json(error), R"({"error":{"message":"too long","type":"exceed_context_size_error","param":"prompt",)"
                               R"("code":"context_length_exceeded","n_prompt_tokens":1025,"n_ctx":1024}})");
  const Json uncounted = *parse_json(error_json(to_api_error(context_length_exceeded("too long", "prompt", 0, 7))));
  EXPECT_FALSE(uncounted["error"].contains("n_prompt_tokens"));
  EXPECT_EQ(uncounted["error"]["n_ctx"], 7);
}

TEST(ApiError, AWrongKeyIsAnInvalidRequest) {
  EXPECT_EQ((*parse_json(error_json({401, "wrong", "", "invalid_api_key"})))["error"]["type"], "invalid_request_error");
}

TEST(ApiError, ShutdownIsNoRateLimit) {
  const ApiError error = to_api_error(Error{ErrorCode::kResourceExhausted, "no new work", "shutdown"});
  EXPECT_EQ(error.status, 503);
  EXPECT_EQ(error.code, "shutting_down");
}

TEST(ApiError, WhatIsEmptyIsNull) {
  EXPECT_EQ(error_json(bad_request("wrong")),
            R"({"error":{"message":"wrong","type":"invalid_request_error","param":null,"code":null}})");
  EXPECT_EQ(error_json(bad_request("wrong", "seed", "x")),
            R"({"error":{"message":"wrong","type":"invalid_request_error","param":"seed","code":"x"}})");
}

TEST(ApiError, MessagesSurviveAnyBytes) {
  EXPECT_TRUE(parse_json(error_json(bad_request("\xff\n\"\\"))).ok());
}

TEST(ApiError, WantOfMemoryPasses) {
  const ApiError error = to_api_error(caught([] { throw std::bad_alloc(); }).error());
  EXPECT_EQ(error.status, 503);
  EXPECT_EQ(error.code, "out_of_resources");
}

bool has_header(const HttpResponse& response, const std::string& name) {
  return std::any_of(response.headers.begin(), response.headers.end(), [&](const auto& h) { return h.first == name; });
}

TEST(ApiError, ResponsesSayWhenToTryAgainAndHowToLogIn) {
  for (const int status : {429, 503}) EXPECT_TRUE(has_header(error_response({status, "", "", ""}), "Retry-After"));
  for (const int status : {400, 401, 500})
    EXPECT_FALSE(has_header(error_response({status, "", "", ""}), "Retry-After"));
  EXPECT_TRUE(has_header(error_response({401, "", "", ""}), "WWW-Authenticate"));
  EXPECT_EQ(error_response({404, "", "", ""}).status, 404);
}

}  // namespace
}  // namespace realizar::server
