#include <gtest/gtest.h>

#include "server/call/protocol.h"

namespace realizar::server {
namespace {

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
