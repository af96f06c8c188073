// The turns of a chat, for the model's template. The oldest turns can be left out of the prompt, but are saved with the
// others.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"
#include "realizar/result.h"
#include "realizar/text.h"

namespace realizar::cli {

class Conversation {
 public:
  // The system message; empty: none.
  const std::string& system() const { return system_; }
  void set_system(std::string text) { system_ = std::move(text); }
  // The messages before all turns, as defined by models from Ollama: a JSON list of messages. "": none. A system
  // message among them is used if none is set yet. Errors: FormatError.
  Status set_beginning(std::string_view messages);
  void set_beginning_of(const Conversation& other) { beginning_ = other.beginning_; }
  // Forgets the turns.
  void clear();

  void ask(std::string_view question);
  // The reasoning is kept with the answer; the template decides whether a later prompt includes it.
  void answer(const TextGeneration& generation);
  // The result of the call with this index in the last answer.
  void add_tool_result(size_t call_idx, std::string_view text);
  // Removes the last question, with its answer if there is one, and returns it; empty if there is none.
  std::string take_back();

  // Leaves the oldest remaining question and its answer out of the prompt; false if only the last question is left.
  bool leave_out_oldest();
  size_t n_questions() const;
  size_t n_left_out() const { return n_left_out_; }  // questions

  // The variables of the model's template: {"messages": [...]}, and "tools" if there are any.
  nlohmann::ordered_json template_variables(const nlohmann::ordered_json& tools = {}) const;

  // {"messages": [...]}: the system message and all turns, without the beginning. Bytes that are not UTF-8 become
  // U+FFFD.
  std::string to_json() const;
  // Errors: FormatError naming the part that differs from to_json's format.
  static Result<Conversation> from_json(std::string_view text);

 private:
  size_t first_kept() const;

  std::string system_;
  nlohmann::ordered_json beginning_ = nlohmann::ordered_json::array();
  nlohmann::ordered_json turns_ = nlohmann::ordered_json::array();
  size_t n_left_out_ = 0;
};

// Conversations in files: those that a user saves, and the last chat on this machine, which `--continue` resumes. The
// latter is stored next to the history, readable only by its owner.

// Errors: InvalidArgument (the system's reason).
Status write_conversation(const std::filesystem::path& path, const Conversation& conversation, Readers readers);
// Errors: those of read_file_or_pipe; FormatError.
Result<Conversation> read_conversation(const std::filesystem::path& path);

// realizar/conversation.json in the folder of history_path(); nullopt if the environment defines none.
std::optional<std::filesystem::path> last_chat_path();
// Like write_conversation; creates the folder if necessary.
Status keep_last_chat(const std::filesystem::path& path, const Conversation& conversation);
// Like read_conversation; NotFound if no chat was kept.
Result<Conversation> read_last_chat(const std::filesystem::path& path);

}  // namespace realizar::cli
