#include "server/dialects/ollama/ollama_prompt.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/try.h"

namespace realizar::server {
namespace {

// System messages, and the others from the i-th on.
Json messages_from(const Json& messages, size_t first) {
  Json left = Json::array();
  for (size_t i = 0; i < messages.size(); ++i) {
    const bool is_system = messages[i].is_object() && messages[i].value("role", Json()) == "system";
    if (i >= first || is_system) left.push_back(messages[i]);
  }
  return left;
}

}  // namespace

uint32_t max_ollama_context(const OllamaRequest& request, const ServedModel& model) {
  const uint32_t n_ctx = model.loaded->info.n_ctx;
  return request.max_context == 0 ? n_ctx : std::min(n_ctx, request.max_context);
}

Status cut_ollama_prompt(const OllamaRequest& request, const char* field, const ServedModel& model,
                         std::vector<TokenId>& tokens) {
  const uint32_t n_ctx = max_ollama_context(request, model);
  const size_t most = std::max<uint32_t>(n_ctx, 2) - 1;
  if (tokens.size() <= most || (tokens.size() == n_ctx && !request.truncates)) return {};
  if (!request.truncates) {
    return context_length_exceeded(
        fmt::format("the prompt has {} tokens, the context {}, and truncate is false", tokens.size(), n_ctx), field,
        tokens.size(), n_ctx);
  }
  const size_t n_kept = std::min<size_t>(request.n_keep, most / 2);
  const auto kept = tokens.begin() + static_cast<std::ptrdiff_t>(n_kept);
  tokens.erase(kept, kept + static_cast<std::ptrdiff_t>(tokens.size() - most));
  return {};
}

Result<ChatPrompt> read_ollama_chat_prompt(const OllamaRequest& request, const Json& messages,
                                           const text::ChatTemplate* chat_template, const ServedModel& model) {
  const auto read_from = [&](size_t first) {
    Json body = request.chat;
    body["messages"] = messages_from(messages, first);
    Fields fields(body);
    return read_chat_prompt(fields, model, chat_template);
  };
  const size_t most = std::max<uint32_t>(max_ollama_context(request, model), 2) - 1;
  const auto fits = [&](const Result<ChatPrompt>& prompt) { return prompt.ok() && prompt->tokens.size() <= most; };
  auto prompt = read_from(0);
  const bool is_wrong = !prompt.ok() && prompt.error().code != ErrorCode::kContextLengthExceeded;
  if (is_wrong || fits(prompt) || !request.truncates) return prompt;

  // The fewest messages are dropped: each try renders all the rest, so that the tries must be few.
  size_t too_many = 0, last = messages.size() - 1;
  prompt = read_from(last);
  while (fits(prompt) && last - too_many > 1) {
    const size_t middle = too_many + (last - too_many) / 2;
    auto longer = read_from(middle);
    if (fits(longer)) {
      last = middle;
      prompt = std::move(longer);
    } else {
      too_many = middle;
    }
  }
  return prompt;
}

}  // namespace realizar::server
