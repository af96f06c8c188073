#include "server/call/truncation.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/try.h"

namespace realizar::server {
namespace {

Json role_in(const Json& message) {
  return message.is_object() ? message.value("role", Json()) : Json();
}

bool is_instruction(const Json& message) {
  const Json role = role_in(message);
  return role == "system" || role == "developer";
}

// Instructions, and the others from the i-th on.
Json newest_of(const Json& messages, size_t first) {
  Json left = Json::array();
  for (size_t i = 0; i < messages.size(); ++i) {
    if (i >= first || is_instruction(messages[i])) left.push_back(messages[i]);
  }
  return left;
}

std::vector<size_t> possible_firsts(const Json& messages) {
  std::vector<size_t> firsts;
  for (size_t i = 0; i < messages.size(); ++i) {
    const bool is_result = role_in(messages[i]) == "tool";
    if (!is_result && !is_instruction(messages[i])) firsts.push_back(i);
  }
  return firsts;
}

}  // namespace

Result<ChatRequest> read_whole_chat(const Json& body, const char* messages, const ServedModel& model,
                                    const RequestContext& context) {
  Fields fields(body);
  return read_chat_request(fields, messages, model, context);
}

Result<ChatRequest> read_newest_messages(const Json& body, const char* messages, const ServedModel& model,
                                         const RequestContext& context) {
  const auto fits = [&](const Result<ChatRequest>& chat) {
    return chat.ok() && chat->prompt.tokens.size() < model.loaded->info.n_ctx;
  };
  auto whole = read_whole_chat(body, messages, model, context);
  const bool is_wrong = !whole.ok() && whole.error().code != ErrorCode::kContextLengthExceeded;
  const std::vector<size_t> firsts = possible_firsts(body["messages"]);
  if (is_wrong || fits(whole) || firsts.size() < 2) return whole;

  const auto read_from = [&](size_t first) {
    Json newest = body;
    newest["messages"] = newest_of(body["messages"], first);
    return read_whole_chat(newest, messages, model, context);
  };
  // Each try renders all the rest, so that the tries must be few.
  size_t too_many = 0, last = firsts.size() - 1;
  auto chat = read_from(firsts[last]);
  while (fits(chat) && last - too_many > 1) {
    const size_t middle = too_many + (last - too_many) / 2;
    auto longer = read_from(firsts[middle]);
    if (fits(longer)) {
      last = middle;
      chat = std::move(longer);
    } else {
      too_many = middle;
    }
  }
  return chat;
}

}  // namespace realizar::server
