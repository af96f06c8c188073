#include "mcp/transport.h"

#include <algorithm>
#include <utility>

namespace realizar::mcp {

Status Patience::status() const {
  if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) {
    return Error{ErrorCode::kCancelled, "it was cancelled", ""};
  }
  if (Clock::now() < deadline) return {};
  return Error{ErrorCode::kResourceExhausted, "there was no answer in time", kTimeout};
}

Answer answer_of(Message message) {
  Answer answer;
  if (message.kind == Message::Kind::kError) answer.error = std::move(message.error);
  answer.result = std::move(message.result);
  return answer;
}

Patience within(std::chrono::milliseconds time, const Patience& patience) {
  return {std::min(patience.deadline, Clock::now() + time), patience.cancelled};
}

}  // namespace realizar::mcp
