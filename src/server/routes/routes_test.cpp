#include "server/routes/routes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <utility>
#include <vector>

#include "server/call/read_body.h"

namespace realizar::server {
namespace {

// The routes in the row of that name in SECURITY.md's table, sorted.
std::vector<std::string> told_routes(const std::string& right) {
  std::ifstream file(RZ_SOURCE_DIR "/SECURITY.md");
  std::vector<std::string> routes;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("| **" + right + "** |")) continue;
    const std::regex route("`([A-Z]+ /[^`]*)`");
    for (std::sregex_iterator at(line.begin(), line.end(), route), end; at != end; ++at) routes.push_back((*at)[1]);
  }
  std::ranges::sort(routes);
  return routes;
}

TEST(Routes, HaveTheRightsThatSecurityTells) {
  const std::pair<Right, const char*> kRights[] = {{Right::kNone, "none"},
                                                   {Right::kKey, "key"},
                                                   {Right::kOwn, "own"},
                                                   {Right::kManage, "admin"},
                                                   {Right::kOwner, "owner"}};
  for (const auto& [right, name] : kRights) {
    std::vector<std::string> routes;
    for (const Route& route : all_routes()) {
      if (route.right == right) routes.push_back(std::string(route.method) + " " + route.path);
    }
    std::ranges::sort(routes);
    EXPECT_EQ(routes, told_routes(name)) << name;
  }
}

// The fields of a POST's body in docs/openapi.json.
std::set<std::string> described_fields(const Json& api, const std::string& path) {
  const Json& content = api["paths"][path]["post"]["requestBody"]["content"]["application/json"];
  const std::string reference = content["schema"]["$ref"];
  const Json& schema = api["components"]["schemas"][reference.substr(reference.rfind('/') + 1)];
  std::set<std::string> names;
  for (const auto& [name, value] : schema["properties"].items()) names.insert(name);
  return names;
}

// A field that a route's schema omits is described at the chats of OpenAI or the completions of llama.cpp.
TEST(Fields, AreThoseThatTheDescriptionHas) {
  // Other names of reasoning_budget.
  const std::set<std::string> kToldElsewhere{"thinking_budget_tokens", "reasoning_budget_tokens",
                                             "thinking_token_budget", "thinking_budget"};
  std::ifstream file(RZ_SOURCE_DIR "/docs/openapi.json");
  Json api = Json::parse(file);
  std::set<std::string> common = described_fields(api, "/v1/chat/completions");
  common.merge(described_fields(api, "/completion"));
  for (const Route& route : all_routes()) {
    if (route.protocol->fields == nullptr) continue;
    const std::set<std::string> described = described_fields(api, route.path);
    std::set<std::string> read;
    for (const KnownField& field : route.protocol->fields()) {
      if (field.has_effect) read.emplace(field.name);
    }
    for (const std::string& name : read) {
      const bool is_told = described.contains(name) || common.contains(name) || kToldElsewhere.contains(name);
      EXPECT_TRUE(is_told) << route.path << " " << name;
    }
    for (const std::string& name : described) EXPECT_TRUE(read.contains(name)) << route.path << " " << name;
    for (const std::string& name : read) EXPECT_TRUE(std::ranges::binary_search(known_fields(), name)) << name;
  }
}

TEST(Fields, AreKnownToEveryRouteThatReadsBodies) {
  for (const Route& route : all_routes()) {
    EXPECT_EQ(route.protocol->read == nullptr, route.protocol->fields == nullptr) << route.path;
  }
}

TEST(FindRoute, HasVersionedRoutesWithoutVersionToo) {
  for (const char* path : {"/models", "/models/load", "/chat/completions", "/completions", "/embeddings", "/responses",
                           "/messages", "/rerank", "/score", "/fim/completions", "/load_lora_adapter"}) {
    const RouteMatch plain = find_route("GET", path), versioned = find_route("GET", std::string("/v1") + path);
    EXPECT_NE(plain.allowed, "") << path;
    EXPECT_EQ(plain.allowed, versioned.allowed) << path;
    EXPECT_EQ(plain.route, versioned.route) << path;
  }
}

TEST(FindRoute, HasNoOtherRouteUnderAVersion) {
  for (const char* path : {"/metrics",
                           "/metrics/history",
                           "/slots",
                           "/slots/0",
                           "/props",
                           "/mcp",
                           "/mcp/x/tools",
                           "/mcp/x/call",
                           "/cache",
                           "/lora-adapters",
                           "/api/tags",
                           "/api/pull",
                           "/api/blobs/x",
                           "/tokenize",
                           "/detokenize",
                           "/apply-template",
                           "/completion",
                           "/infill",
                           "/embedding",
                           "/livez",
                           "/readyz",
                           "/health",
                           "/ping",
                           "/version",
                           "/manifest.webmanifest",
                           "/page/temml.js",
                           "/"}) {
    EXPECT_NE(find_route("GET", path).allowed, "") << path;
    for (const char* before : {"/v1", "//v1", "/v1/", "/v2"}) {
      EXPECT_EQ(find_route("GET", std::string(before) + path).allowed, "") << before << path;
    }
  }
}

TEST(FindRoute, ForgivesSlashesTooMany) {
  for (const char* path : {"/v1/models/", "/v1//models", "//v1/models", "/v1/models//", "//models", "/models/"}) {
    EXPECT_EQ(find_route("GET", path).route, find_route("GET", "/v1/models").route) << path;
  }
  EXPECT_EQ(find_route("GET", "/v1/models//a/").path_id, "a");
  EXPECT_EQ(find_route("GET", "/v1/responses//resp_1/input_items/").path_id, "resp_1");
  EXPECT_EQ(find_route("POST", "/completions/", true).route, find_route("POST", "/completion").route);
  EXPECT_EQ(find_route("POST", "/v1/completions/", true).route, find_route("POST", "/v1/completions").route);
  EXPECT_NE(find_route("POST", "/v2/rerank/").route, nullptr);
  for (const char* path : {"/api/tags/", "/api//tags"}) {
    EXPECT_EQ(find_route("GET", path).route, find_route("GET", "/api/tags").route) << path;
  }
  for (const char* path : {"//api/tags", "//metrics", "/metrics/", "//mcp", "//slots", "/props/", "//"}) {
    EXPECT_EQ(find_route("GET", path).allowed, "") << path;
  }
}

TEST(EffectOf, IsFarReachingWhereOthersAreConcerned) {
  const auto effect = [](const char* method, const char* path) {
    const Route* route = find_route(method, path).route;
    EXPECT_NE(route, nullptr) << path;
    return route == nullptr ? Effect::kNone : effect_of(*route);
  };
  for (const char* path :
       {"/mcp/x/call", "/models", "/models/load", "/models/unload", "/load_lora_adapter", "/unload_lora_adapter",
        "/lora-adapters", "/slots/0", "/api/copy", "/api/create", "/api/pull", "/api/push", "/api/blobs/x"}) {
    EXPECT_EQ(effect("POST", path), Effect::kFarReaching) << path;
  }
  for (const char* path : {"/models", "/cache", "/api/delete"})
    EXPECT_EQ(effect("DELETE", path), Effect::kFarReaching) << path;
  for (const char* path : {"/mcp", "/mcp/x/tools"}) EXPECT_EQ(effect("GET", path), Effect::kFarReaching) << path;
  for (const char* path : {"/", "/models/sse", "/lora-adapters", "/slots", "/metrics", "/props", "/responses/x"}) {
    EXPECT_EQ(effect("GET", path), Effect::kNone) << path;
  }
  EXPECT_EQ(effect("POST", "/responses/x/cancel"), Effect::kNone);
  EXPECT_EQ(effect("DELETE", "/responses/x"), Effect::kNone);
  for (const char* path : {"/models", "/models/x", "/api/tags", "/api/ps", "/api/version"}) {
    EXPECT_EQ(effect("GET", path), Effect::kAnswer) << path;
  }
  for (const char* path : {"/chat/completions", "/messages", "/tokenize", "/api/chat", "/api/embed", "/api/show"}) {
    EXPECT_EQ(effect("POST", path), Effect::kAnswer) << path;
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
  for (const char* path : {"", "/v1", "/v1/", "/v1/v1/models", "/v1models", "/v2/models", "/model", "/V1/models"}) {
    EXPECT_EQ(find_route("GET", path).route, nullptr) << path;
    EXPECT_EQ(find_route("GET", path).allowed, "") << path;
  }
  EXPECT_NE(find_route("GET", "/").route, nullptr);
}

}  // namespace
}  // namespace realizar::server
