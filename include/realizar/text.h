// Generated text: its parts, as they arrive and in the end.
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

// One turn of a conversation. role: "system", "user", "assistant", or another that the model's template knows.
struct ChatMessage {
  std::string role, content;
};

struct TextOptions {
  std::vector<std::string> stop = {};  // stop strings, cut exactly
  bool skip_special = true;            // control tokens give no text
  // Tells reasoning from the answer, where the model's chat template says how it is marked, and leaves the marks out.
  bool split_reasoning = false;
  // Tells calls of these tools from the answer, and reasoning with them: a JSON array of functions as OpenAI's API has
  // them, which the prompt's template was given too. Empty: calls stay text. The model may call others as well.
  std::string tools_json = {};
};

enum class TextKind : uint8_t { kReasoning, kContent, kToolCallBegin, kToolCallArguments, kToolCallEnd };

// A piece of generated text with the token that completed it. A token may give no text yet.
struct TextEvent {
  std::string_view text;    // of reasoning or content; a call's name, or a piece of its arguments' JSON
  const TokenEvent* token;  // null for further text of the same token, and for what was held back until the end
  TextKind kind = TextKind::kContent;
  size_t call_idx = 0;  // of a call's pieces: 0, 1, 2 in order
};
// False stops the generation.
using TextCallback = std::function<bool(const TextEvent&)>;

struct ToolCall {
  std::string name;
  std::string arguments_json;  // an object; of a call that was cut, as far as it came
};

struct TextGeneration : Generation {
  std::string text;       // the content
  std::string reasoning;  // where TextOptions has it told
  std::vector<ToolCall> calls = {};
};

// What the request of this index gave, or why it gave nothing.
using TextEndCallback = std::function<void(size_t idx, Result<TextGeneration> result)>;

}  // namespace realizar
