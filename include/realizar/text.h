// Generated text: its parts, as they arrive and at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/generation.h"
#include "realizar/result.h"

namespace realizar {

// One turn of a conversation. role: "system", "user", "assistant", or another that the model's template supports.
struct ChatMessage {
  std::string role, content;
};

struct TextOptions {
  std::vector<std::string> stop = {};  // stop strings, cut off exactly
  bool skip_special = true;            // control tokens produce no text
  // Separates reasoning from the answer if the model's chat template marks it, and removes the marks.
  bool split_reasoning = false;
  // Separates calls of these tools, and reasoning, from the answer: a JSON array of functions in the form of OpenAI's
  // API, which the prompt's template was given too. Empty: calls stay in the text. The model may also call other tools.
  std::string tools_json = {};
};

enum class TextKind : uint8_t { kReasoning, kContent, kToolCallBegin, kToolCallArguments, kToolCallEnd };

// A piece of generated text with the token that completed it. A token may produce no text yet.
struct TextEvent {
  std::string_view text;    // reasoning or content; or a call's name, or a piece of its arguments' JSON
  const TokenEvent* token;  // null for further text of the same token, and for text that was held back until the end
  TextKind kind = TextKind::kContent;
  size_t call_idx = 0;  // for a call's pieces: 0, 1, 2 in order
};
// False stops the generation.
using TextCallback = std::function<bool(const TextEvent&)>;

struct ToolCall {
  std::string name;
  std::string arguments_json;  // an object; for an incomplete call, its beginning
};

struct TextGeneration : Generation {
  std::string text;       // the content
  std::string reasoning;  // if TextOptions ask for it
  std::vector<ToolCall> calls = {};
};

// The result for the request with this index, or its error.
using TextEndCallback = std::function<void(size_t idx, Result<TextGeneration> result)>;

}  // namespace realizar
