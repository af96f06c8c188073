// The turns of a chat, as the model's template reads them. The oldest can be left out of the prompt; they stay in what
// is saved.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "realizar/result.h"
#include "realizar/text.h"

namespace realizar::cli {

class Conversation {
 public:
  // The system message; empty: none.
  const std::string& system() const { return system_; }
  void set_system(std::string text) { system_ = std::move(text); }
  // What stands before all turns, as models of Ollama's have it: a JSON list of messages. "": nothing. A system message
  // among them is taken where there is none yet. Errors: FormatError.
  Status set_beginning(std::string_view messages);
  void set_beginning_of(const Conversation& other) { beginning_ = other.beginning_; }
  // Forgets the turns.
  void clear();

  void ask(std::string_view question);
  // The reasoning is kept with the answer; the template decides whether a later prompt has it.
  void answer(const TextGeneration& generation);
  // What the call of this index, of the last answer, gave.
  void add_tool_result(size_t call_idx, std::string_view text);
  // Takes the last question back, with its answer if it has one, and gives it; empty where there is none.
  std::string take_back();

  // Leaves one more question and its answer, the oldest, out of the prompt; false where only the last question is
  // there.
  bool leave_out_oldest();
  size_t n_questions() const;
  size_t n_left_out() const { return n_left_out_; }  // questions

  // The variables of the model's template: {"messages": [...]}, and "tools" where there are some.
  nlohmann::ordered_json template_variables(const nlohmann::ordered_json& tools = {}) const;

  // {"messages": [...]}, the system message first and all turns after it, without the beginning. Bytes that are not
  // UTF-8 become U+FFFD.
  std::string to_json() const;
  // Errors: FormatError naming what is not as to_json writes it.
  static Result<Conversation> from_json(std::string_view text);

 private:
  size_t first_kept() const;
  size_t answer_of_last_calls() const;

  std::string system_;
  nlohmann::ordered_json beginning_ = nlohmann::ordered_json::array();
  nlohmann::ordered_json turns_ = nlohmann::ordered_json::array();
  size_t n_left_out_ = 0;
};

}  // namespace realizar::cli
