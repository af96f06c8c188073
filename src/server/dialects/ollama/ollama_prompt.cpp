#include "server/dialects/ollama/ollama_prompt.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "base/try.h"
#include "server/call/truncation.h"
#include "server/models/stored_messages.h"

namespace realizar::server {
namespace {

bool is_system(const ChatMessage& message) {
  return message.role == Role::kSystem;
}

Result<ChatMessage> read_ollama_message(Json message, const std::string& where) {
  if (!message.is_object()) return wrong(where, "expected an object");
  const Json role = message.value("role", Json());
  const Status has_text_alone = refuse_images(message, where + ".");
  if (!has_text_alone.ok() && role != "tool") return has_text_alone.error();
  message.erase("images");
  if (message.value("content", Json()).is_null()) message["content"] = "";
  // A role of Granite's templates, which controls thinking and the length of answers.
  const bool is_control = role == "control";
  if (is_control) message["role"] = "user";
  const Json tool_name = message.value("tool_name", Json());
  message.erase("tool_name");
  RZ_TRY(ChatMessage read, read_chat_message(std::move(message), where));
  if (tool_name.is_string()) read.name = tool_name.get<std::string>();
  if (is_control) read.role = Role::kOther;
  if (is_control) read.more["role"] = role;
  if (!has_text_alone.ok()) read.content += (read.content.empty() ? "" : "\n") + note_of_part("image");
  return read;
}

}  // namespace

Result<std::vector<ChatMessage>> read_ollama_messages(const Json& messages) {
  std::vector<ChatMessage> read;
  for (size_t i = 0; i < messages.size(); ++i) {
    RZ_TRY(read.emplace_back(), read_ollama_message(messages[i], fmt::format("messages[{}]", i)));
  }
  return read;
}

uint32_t max_ollama_context(const OllamaRequest& request) {
  const uint32_t n_ctx = request.model.loaded->info.n_ctx;
  return request.max_context == 0 ? n_ctx : std::min(n_ctx, request.max_context);
}

Status cut_ollama_prompt(const OllamaRequest& request, const char* field, std::vector<TokenId>& tokens) {
  const uint32_t n_ctx = max_ollama_context(request);
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

Result<ChatPrompt> ollama_chat_prompt(const OllamaRequest& request, const text::ChatTemplate* chat_template) {
  const size_t most = std::max<uint32_t>(max_ollama_context(request), 2) - 1;
  const auto fits = [&](const Result<ChatPrompt>& prompt) { return prompt.ok() && prompt->tokens.size() <= most; };
  auto prompt = chat_prompt(request.chat, request.model, chat_template);
  const bool is_wrong = !prompt.ok() && prompt.error().code != ErrorCode::kContextLengthExceeded;
  if (is_wrong || fits(prompt) || !request.truncates) return prompt;

  std::vector<size_t> firsts(request.chat.messages.size());
  std::iota(firsts.begin(), firsts.end(), 0);
  const auto render = [&](size_t first) {
    return chat_prompt(newest_messages(request.chat, first, is_system), request.model, chat_template);
  };
  return fit_newest(firsts, render, fits);
}

}  // namespace realizar::server
