// Traits of a chat template: the conversations that it supports. They are determined by rendering small conversations;
// the source is not inspected.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace realizar::text {

class ChatTemplate;

struct TemplateTraits {
  // The content of a message with calls but no text.
  enum class NoContent : uint8_t { kEmpty, kNull, kAbsent };
  // The position of the text of a message with calls.
  enum class TextWithCalls : uint8_t { kSameMessage, kMessageBefore, kTurnBefore };

  bool content_as_parts = false;  // a content is [{type: text, text}]

  bool takes_system = true;           // at the beginning
  bool takes_developer = true;        // as a separate role
  bool takes_several_systems = true;  // adjacent, at the beginning
  bool takes_later_system = true;
  bool needs_user = false;  // a conversation without a user's message is refused

  bool takes_user_neighbours = true;
  bool takes_assistant_neighbours = true;
  bool takes_answer_first = true;
  bool takes_turns_across_calls = true;  // calls and their results separate messages of the same role

  bool takes_calls = true;
  bool takes_parallel_calls = true;
  bool takes_results = true;
  bool needs_short_ids = false;     // nine letters or digits
  bool arguments_as_text = false;   // JSON in a string
  bool takes_cut_arguments = true;  // text that is not JSON
  NoContent no_content = NoContent::kEmpty;
  TextWithCalls text_with_calls = TextWithCalls::kSameMessage;

  std::string thoughts_name = "reasoning_content";  // name of the member with a message's thoughts
  bool reads_thoughts_with_calls = false;           // in the current turn
  bool reads_thoughts_of_answers = false;           // in earlier turns
  bool opens_thoughts = false;                      // the prompt ends in thoughts, which the model continues

  std::string tools_name = "tools";           // name of the variable; "": the template does not support tools
  bool null_tools = false;                    // without tools the variable is null, not absent
  std::vector<std::string> tool_fields = {};  // required in each tool: description, parameters ...
};

TemplateTraits ask_traits(const ChatTemplate& chat_template);

// Each trait as a name and a value, for display.
std::vector<std::pair<std::string, std::string>> listed(const TemplateTraits& traits);

}  // namespace realizar::text
