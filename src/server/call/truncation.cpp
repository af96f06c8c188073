#include "server/call/truncation.h"

#include <utility>

namespace realizar::server {

ChatRequest newest_messages(const ChatRequest& chat, size_t first, bool (*stays)(const ChatMessage& message)) {
  ChatRequest newest = chat;
  newest.messages.clear();
  for (size_t i = 0; i < chat.messages.size(); ++i) {
    if (i >= first || stays(chat.messages[i])) newest.messages.push_back(chat.messages[i]);
  }
  return newest;
}

// Each try renders the whole rest, so there must be few tries.
Result<ChatPrompt> fit_newest(const std::vector<size_t>& firsts,
                              const std::function<Result<ChatPrompt>(size_t first)>& render,
                              const std::function<bool(const Result<ChatPrompt>& prompt)>& fits) {
  size_t too_many = 0, last = firsts.size() - 1;
  auto prompt = render(firsts[last]);
  while (fits(prompt) && last - too_many > 1) {
    const size_t middle = too_many + (last - too_many) / 2;
    auto longer = render(firsts[middle]);
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
