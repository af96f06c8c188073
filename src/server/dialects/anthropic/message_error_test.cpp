#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/call/protocol.h"

namespace realizar::server {
namespace {

TEST(MessageError, HasAnthropicsTypesAndStatuses) {
  const struct {
    int status, told;
    const char* type;
  } cases[] = {{400, 400, "invalid_request_error"}, {401, 401, "authentication_error"},
               {403, 403, "permission_error"},      {404, 404, "not_found_error"},
               {413, 413, "request_too_large"},     {415, 415, "invalid_request_error"},
               {429, 429, "rate_limit_error"},      {500, 500, "api_error"},
               {503, 529, "overloaded_error"},      {504, 504, "timeout_error"}};
  for (const auto& [status, told, type] : cases) {
    ApiError error{status, "why", "", ""};
    error.request_id = "req_1";
    const HttpResponse response = message_error_response(error);
    EXPECT_EQ(response.status, told);
    EXPECT_EQ(*parse_json(response.body),
              Json({{"type", "error"}, {"error", {{"type", type}, {"message", "why"}}}, {"request_id", "req_1"}}));
  }
}

TEST(MessageError, NamesTheFieldThatIsWrong) {
  const auto told = [](const char* message) {
    return (*parse_json(message_error_response({400, message, "system", ""}).body))["error"]["message"]
        .get<std::string>();
  };
  EXPECT_EQ(told("system: expected a string"), "system: expected a string");
  EXPECT_EQ(told("expected a string"), "system: expected a string");
}

TEST(MessageError, APromptThatIsTooLongIsToldInTheWordsThatClientsLookFor) {
  const auto told = [](uint32_t n_prompt) {
    const ApiError error{400, "the text is long", "messages", "context_length_exceeded", n_prompt, 1024};
    return (*parse_json(message_error_response(error).body))["error"]["message"].get<std::string>();
  };
  EXPECT_EQ(told(2000), "prompt is too long: 2000 tokens > 1024 maximum");
  EXPECT_EQ(told(0), "prompt is too long: the text is long");
}

}  // namespace
}  // namespace realizar::server
