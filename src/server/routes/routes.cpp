#include "server/routes/routes.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>

#include "base/encodings.h"

namespace realizar::server {
namespace {

// An answer that is available at once.
template <HttpResponse (*answer)(const Call&)>
Task<Status> at_once(Call& call) {
  call.send(answer(call));
  co_return Status();
}

// An answer to the JSON object in a call's body, made at once or by a coroutine.
template <auto serve, bool may_be_missing>
Task<Status> with_object(Call& call) {
  RZ_CO_TRY(Json body, co_await json_object(call, may_be_missing));
  const TakenApartAtEnd end{body};
  if (call.is_over()) co_return Status();
  if constexpr (std::is_same_v<decltype(serve(call, body)), Status>) {
    co_return serve(call, body);
  } else {
    Task<Status> serving = serve(call, body);
    co_return co_await serving;
  }
}

constexpr Route kRoutes[] = {
    {"GET", "/v1/models", get_models},
    {"GET", "/v1/models/sse", get_models_sse, &kLlama},
    {"POST", "/v1/models", with_object<post_models, true>, &kLlama, Right::kManage},
    {"POST", "/v1/models/load", with_object<post_models_load, true>, &kLlama, Right::kManage},
    {"POST", "/v1/models/unload", with_object<post_models_unload, true>, &kLlama, Right::kManage},
    {"POST", "/v1/models/search", with_object<post_models_search, true>, &kLlama, Right::kManage},
    {"POST", "/v1/models/choices", with_object<post_models_choices, true>, &kLlama, Right::kManage},
    {"DELETE", "/v1/models", delete_models, &kLlama, Right::kManage},
    {"GET", "/v1/models/{model}", at_once<get_model>},
    {"POST", "/v1/chat/completions", with_model, &kChatCompletions},
    {"POST", "/v1/chat/completions/input_tokens", with_model, &kChatTokens},
    {"POST", "/v1/completions", with_model, &kCompletions},
    {"POST", "/v1/embeddings", with_model, &kEmbeddings},
    {"POST", "/embedding", with_model, &kEmbeddings},
    {"POST", "/v1/rerank", with_model, &kRerank},
    {"POST", "/v1/reranking", with_model, &kRerank},
    {"POST", "/v2/rerank", with_model, &kCohereRerank},
    {"POST", "/v1/score", with_model, &kScore},
    {"POST", "/v1/responses", with_model, &kResponses},
    {"POST", "/v1/messages", with_model, &kMessages},
    {"POST", "/v1/messages/count_tokens", with_model, &kMessageTokens},
    {"POST", "/v1/responses/input_tokens", with_model, &kResponseTokens},
    {"GET", "/v1/responses/{response_id}", get_response},
    {"DELETE", "/v1/responses/{response_id}", at_once<delete_response>},
    {"GET", "/v1/responses/{response_id}/input_items", get_input_items},
    {"POST", "/v1/responses/{response_id}/cancel", at_once<post_cancel_response>},
    {"DELETE", "/cache", delete_cache, &kPlainProtocol, Right::kOwn},
    {"POST", "/v1/fim/completions", with_model, &kFim},
    {"POST", "/completion", with_model, &kLlamaCompletion},
    {"POST", "/infill", with_model, &kLlamaInfill},
    {"GET", "/props", at_once<get_props>, &kLlama},
    {"GET", "/lora-adapters", at_once<get_lora_adapters>, &kLlama},
    {"POST", "/lora-adapters", post_lora_adapters, &kLlama, Right::kManage},
    {"POST", "/v1/load_lora_adapter", post_load_lora_adapter, &kPlainProtocol, Right::kManage},
    {"POST", "/v1/unload_lora_adapter", post_unload_lora_adapter, &kPlainProtocol, Right::kManage},
    {"GET", "/slots", at_once<get_slots>, &kLlama},
    {"POST", "/slots/{slot_id}", post_slot, &kLlama},
    {"POST", "/api/chat", with_ollama_model, &kOllamaChat},
    {"POST", "/api/generate", with_ollama_model, &kOllamaGenerate},
    {"POST", "/api/embed", with_model, &kOllamaEmbed},
    {"POST", "/api/embeddings", with_model, &kOllamaEmbeddings},
    {"GET", "/api/tags", get_ollama_tags, &kOllama},
    {"GET", "/api/ps", get_ollama_ps, &kOllama},
    {"GET", "/api/version", at_once<get_ollama_version>, &kOllama, Right::kNone},
    {"POST", "/api/show", with_object<post_ollama_show, false>, &kOllama},
    {"POST", "/api/copy", with_object<post_ollama_copy, false>, &kOllama},
    {"POST", "/api/create", with_object<post_ollama_create, false>, &kOllama},
    {"POST", "/api/pull", with_object<post_ollama_pull, false>, &kOllama},
    {"POST", "/api/push", with_object<post_ollama_push, false>, &kOllama},
    {"DELETE", "/api/delete", with_object<delete_ollama_model, false>, &kOllama},
    {"GET", "/api/blobs/{digest}", at_once<get_blob>, &kOllama},
    {"POST", "/api/blobs/{digest}", post_blob, &kOllama, Right::kManage, take_blob},
    {"POST", "/tokenize", with_model, &kTokenize},
    {"POST", "/detokenize", with_model, &kDetokenize},
    {"POST", "/apply-template", with_model, &kApplyTemplate},
    {"POST", "/service/models", with_object<post_service_models, false>, &kPlainProtocol, Right::kOwner},
    {"GET", "/mcp", at_once<get_mcp>},
    {"GET", "/mcp/{server}/tools", get_mcp_tools},
    {"POST", "/mcp/{server}/call", post_mcp_call},
    {"GET", "/livez", at_once<get_livez>, &kPlainProtocol, Right::kNone},
    {"GET", "/readyz", at_once<get_readyz>, &kPlainProtocol, Right::kNone},
    {"GET", "/health", at_once<get_health>, &kPlainProtocol, Right::kNone},
    {"GET", "/ping", at_once<get_health>, &kPlainProtocol, Right::kNone},
    {"GET", "/version", at_once<get_version>, &kPlainProtocol, Right::kNone},
    {"GET", "/metrics", at_once<get_metrics>},
    {"GET", "/metrics/history", at_once<get_metrics_history>},
    {"GET", "/", at_once<get_page>, &kPlainProtocol, Right::kNone},
    {"GET", "/page/{file}", at_once<get_page_part>, &kPlainProtocol, Right::kNone},
    {"GET", "/manifest.webmanifest", at_once<get_manifest>, &kPlainProtocol, Right::kNone},
};

// Tools run with the operator's credentials; models, adapters and the cache are shared by everybody.
bool is_far_reaching(const Route& route) {
  constexpr std::string_view kPaths[] = {"/mcp",      "/slots/{slot_id}", "/api/copy",  "/api/pull",
                                         "/api/push", "/api/create",      "/api/delete"};
  const auto is_below = [&](std::string_view path) { return std::string_view(route.path).starts_with(path); };
  return route.right >= Right::kOwn || std::ranges::any_of(kPaths, is_below);
}

// A model's answers, in every dialect, and the lists of models.
bool gives_answers(const Route& route) {
  constexpr std::string_view kLists[] = {"/v1/models", "/v1/models/{model}", "/api/tags",
                                         "/api/ps",    "/api/show",          "/api/version"};
  return route.serve == with_model || route.serve == with_ollama_model ||
         std::ranges::find(kLists, std::string_view(route.path)) != std::end(kLists);
}

std::string_view without_version(std::string_view path) {
  constexpr std::string_view kVersion = "/v1";
  const bool has_version = path.starts_with("/v1/") && path.size() > kVersion.size() + 1;
  return has_version ? path.substr(kVersion.size()) : path;
}

// Without repeated slashes, and without one at the end.
std::string without_extra_slashes(std::string_view path) {
  std::string tidy;
  for (const char c : path) {
    if (c != '/' || !tidy.ends_with('/')) tidy += c;
  }
  if (tidy.size() > 1 && tidy.ends_with('/')) tidy.pop_back();
  return tidy;
}

struct PathMatch {
  std::string_view id;  // the text that matches the name in the pattern
  size_t n_fixed;       // bytes of the pattern outside its braces
};

// Nullopt: the path does not match.
std::optional<PathMatch> match_path(std::string_view path, std::string_view pattern) {
  const size_t brace = pattern.find('{');
  if (brace == std::string_view::npos) {
    return path == pattern ? std::optional(PathMatch{{}, pattern.size()}) : std::nullopt;
  }
  const std::string_view before = pattern.substr(0, brace), after = pattern.substr(pattern.find('}') + 1);
  const size_t n_fixed = before.size() + after.size();
  const bool is_one = path.size() > n_fixed && path.starts_with(before) && path.ends_with(after);
  return is_one ? std::optional(PathMatch{path.substr(before.size(), path.size() - n_fixed), n_fixed}) : std::nullopt;
}

// The spellings of a route's path that requests may use. A proxy's rules for paths that it blocks (/metrics, /mcp,
// /api) must hold: such a path has no second spelling with a different beginning.
std::optional<PathMatch> match_spelled(std::string_view path, std::string_view tidy, std::string_view pattern) {
  const bool is_versioned = pattern.starts_with("/v1/") || pattern.starts_with("/v2/");
  if (is_versioned) return match_path(without_version(tidy), without_version(pattern));
  const bool may_be_tidied = pattern.starts_with("/api/") && path.starts_with("/api/");
  return match_path(may_be_tidied ? tidy : path, pattern);
}

}  // namespace

std::span<const Route> all_routes() {
  return kRoutes;
}

// A GET changes nothing; but requesting a list of tools uses the operator's credentials.
Effect effect_of(const Route& route) {
  const bool may_have = route.method != std::string_view("GET") || std::string_view(route.path).starts_with("/mcp");
  if (may_have && is_far_reaching(route)) return Effect::kFarReaching;
  return gives_answers(route) ? Effect::kAnswer : Effect::kNone;
}

// Without a version, /completions is llama-server's own route for clients of llama-server, and OpenAI's for all others.
RouteMatch find_route(std::string_view method, std::string_view path, bool llama_answers) {
  std::string tidy = without_extra_slashes(path);
  if (llama_answers && tidy == "/completions") path = tidy = "/completion";
  RouteMatch match;
  size_t n_fixed = 0;
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  for (const Route& route : kRoutes) {
    const auto found = match_spelled(path, tidy, route.path);
    if (!found || found->n_fixed < n_fixed) continue;
    if (found->n_fixed > n_fixed) match = {};
    n_fixed = found->n_fixed;
    match.allowed += std::string(route.method) + (route.method == std::string_view("GET") ? ", HEAD, " : ", ");
    if (wanted != route.method) continue;
    match.route = &route;
    match.path_id = percent_decoded(found->id);
  }
  if (!match.allowed.empty()) match.allowed += "OPTIONS";
  return match;
}

}  // namespace realizar::server
