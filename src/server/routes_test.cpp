#include "server/routes.h"

#include <gtest/gtest.h>

namespace realizar::server {
namespace {

TEST(FindRoute, HasEveryRouteWithAndWithoutVersion) {
  for (const char* path : {"/models", "/chat/completions", "/completions", "/embeddings", "/responses", "/tokenize",
                           "/detokenize", "/apply-template", "/health", "/ping", "/version", "/metrics"}) {
    const RouteMatch plain = find_route("GET", path), versioned = find_route("GET", std::string("/v1") + path);
    EXPECT_NE(plain.allowed, "") << path;
    EXPECT_EQ(plain.allowed, versioned.allowed) << path;
    EXPECT_EQ(plain.route, versioned.route) << path;
  }
}

TEST(FindRoute, TellsTheMethodsOfAPath) {
  EXPECT_EQ(find_route("GET", "/v1/chat/completions").route, nullptr);
  EXPECT_EQ(find_route("GET", "/v1/chat/completions").allowed, "POST, OPTIONS");
  EXPECT_EQ(find_route("POST", "/version").allowed, "GET, HEAD, OPTIONS");
  EXPECT_NE(find_route("HEAD", "/v1/models").route, nullptr);
}

TEST(FindRoute, GivesTheRestOfAPathDecoded) {
  for (const char* path : {"/v1/models/org%2Fname", "/models/org/name"}) {
    const RouteMatch match = find_route("GET", path);
    ASSERT_NE(match.route, nullptr) << path;
    EXPECT_EQ(match.path_id, "org/name");
  }
  EXPECT_EQ(find_route("POST", "/v1/models/x").allowed, "GET, HEAD, OPTIONS");
}

TEST(FindRoute, TakesThePathThatSaysMost) {
  const RouteMatch response = find_route("GET", "/v1/responses/resp_1");
  const RouteMatch items = find_route("GET", "/v1/responses/resp_1/input_items");
  ASSERT_NE(response.route, nullptr);
  ASSERT_NE(items.route, nullptr);
  EXPECT_NE(response.route, items.route);
  EXPECT_EQ(response.path_id, "resp_1");
  EXPECT_EQ(items.path_id, "resp_1");
  EXPECT_EQ(response.allowed, "GET, HEAD, DELETE, OPTIONS");
  EXPECT_EQ(items.allowed, "GET, HEAD, OPTIONS");
  EXPECT_EQ(find_route("DELETE", "/v1/responses/resp_1/input_items").route, nullptr);
  EXPECT_EQ(find_route("GET", "/v1/responses/resp_1/cancel").allowed, "POST, OPTIONS");
  EXPECT_EQ(find_route("POST", "/v1/responses/a%2Fb/cancel").path_id, "a/b");
}

TEST(FindRoute, KnowsNoOtherPath) {
  for (const char* path : {"", "/v1", "/v1/", "/v1/models/", "/models/", "/v1/responses/", "/v1/v1/models", "/v1models",
                           "/v2/models", "//models", "/model"}) {
    EXPECT_EQ(find_route("GET", path).route, nullptr) << path;
    EXPECT_EQ(find_route("GET", path).allowed, "") << path;
  }
  EXPECT_NE(find_route("GET", "/").route, nullptr);
}

}  // namespace
}  // namespace realizar::server
