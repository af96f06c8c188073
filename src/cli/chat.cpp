#include "cli/chat.h"

#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/printable.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/line_editor.h"
#include "cli/output.h"

namespace realizar::cli {
namespace {

constexpr const char* kHelp =
    "/help                this list\n"
    "/reset               forget the conversation\n"
    "/system [TEXT]       set the system message (without TEXT: none) and forget the conversation\n"
    "/set                 show the settings\n"
    "/set NAME VALUE      change one\n"
    "/quit                leave (or Ctrl-D)\n"
    "A line that ends in \\ goes on in the next one. Ctrl-C stops an answer.\n";

template <class T>
bool parse_number(std::string_view text, T& number) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return false;
  number = value;
  return true;
}

class Chat {
 public:
  Chat(LanguageModel& model, const AnswerOptions& options, const std::string& system, bool stats)
      : model_(model), options_(options), system_(system), stats_(stats) {
    reset();
  }

  int loop() {
    print("Chat with " + printable(model_.info().name.empty() ? model_.info().path : model_.info().name) +
          ". /help lists the commands.\n");
    std::string line;
    while (read_message(line)) {
      if (line.empty()) continue;
      if (line == "/quit" || line == "/exit") break;
      const bool go_on = line[0] == '/' ? run_command(line) : answer(line);
      if (!go_on) return kFailure;
    }
    return kOk;
  }

 private:
  // One message, of several lines where they end in a backslash. False at the end of input.
  bool read_message(std::string& message) {
    message.clear();
    const char* prompt = "> ";
    std::string line;
    while (true) {
      switch (editor_.read(prompt, line)) {
        case LineStatus::kEnd:
          print("\n");
          return false;
        case LineStatus::kInterrupted:
          print("\n(/quit or Ctrl-D leaves)\n");
          message.clear();
          return true;
        case LineStatus::kLine:
          break;
      }
      const bool goes_on = line.ends_with('\\');
      if (goes_on) line.back() = '\n';
      message += line;
      if (!goes_on) return true;
      prompt = ". ";
    }
  }

  void reset() {
    messages_ = nlohmann::ordered_json::array();
    if (!system_.empty()) messages_.push_back({{"role", "system"}, {"content", system_}});
  }

  bool run_command(const std::string& line) {
    std::istringstream words(line);
    std::string command;
    words >> command >> std::ws;
    std::string rest;
    std::getline(words, rest, '\0');
    if (command == "/help") return print(kHelp);
    if (command == "/set") return set(rest);
    if (command == "/reset" || command == "/system") {
      if (command == "/system") system_ = rest;
      reset();
      return print("The conversation is empty.\n");
    }
    return print("There is no " + command + "; /help lists the commands.\n");
  }

  bool set(const std::string& assignment) {
    std::istringstream words(assignment);
    std::string name, value;
    words >> name >> value;
    if (name.empty()) return print(settings_text());
    if (!set_value(name, value))
      return print("Cannot set '" + name + "' to '" + value + "'. /set shows the settings.\n");
    return true;
  }

  bool set_value(const std::string& name, const std::string& value) {
    SamplingParams& s = options_.sampling;
    if (name == "temperature") return parse_number(value, s.temperature);
    if (name == "top_k") return parse_number(value, s.top_k);
    if (name == "typical_p") return parse_number(value, s.typical_p);
    if (name == "top_p") return parse_number(value, s.top_p);
    if (name == "min_p") return parse_number(value, s.min_p);
    if (name == "repeat_penalty") return parse_number(value, s.repeat_penalty);
    if (name == "repeat_last_n") return parse_number(value, s.repeat_last_n);
    if (name == "frequency_penalty") return parse_number(value, s.frequency_penalty);
    if (name == "presence_penalty") return parse_number(value, s.presence_penalty);
    if (name == "seed") return parse_number(value, s.seed);
    if (name == "max_tokens") return parse_number(value, options_.max_tokens.emplace(0));
    return false;
  }

  std::string settings_text() const {
    const SamplingParams& s = options_.sampling;
    std::ostringstream text;
    text << "temperature " << s.temperature << "\ntop_k " << s.top_k << "\ntypical_p " << s.typical_p << "\ntop_p "
         << s.top_p << "\nmin_p " << s.min_p << "\nrepeat_penalty " << s.repeat_penalty << "\nrepeat_last_n "
         << s.repeat_last_n << "\nfrequency_penalty " << s.frequency_penalty << "\npresence_penalty "
         << s.presence_penalty << "\nseed " << s.seed << "\nmax_tokens ";
    if (options_.max_tokens) {
      text << *options_.max_tokens << '\n';
    } else {
      text << "no limit\n";
    }
    return text.str();
  }

  // False when standard output is gone.
  bool answer(const std::string& message) {
    messages_.push_back({{"role", "user"}, {"content", message}});
    const nlohmann::ordered_json variables{{"messages", messages_}};
    auto tokens = model_.apply_chat_template(variables.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    if (!tokens.ok()) return forget_last(tokens.error());
    auto answer = stream_answer(model_, std::move(*tokens), options_);
    if (!answer.ok()) return forget_last(answer.error());
    messages_.push_back({{"role", "assistant"}, {"content", answer->generation.text}});
    if (stats_) std::fputs(stats_text(model_.info().backend, {}, answer->generation.stats).c_str(), stderr);
    return !answer->output_failed;
  }

  // A message that could not be answered does not stay in the conversation.
  bool forget_last(const Error& error) {
    messages_.erase(messages_.size() - 1);
    fail(error);
    if (error.code == ErrorCode::kContextLengthExceeded) warn("/reset begins anew; --ctx sets a longer context");
    return true;
  }

  HeldInterrupt held_;
  LanguageModel& model_;
  AnswerOptions options_;
  std::string system_;
  bool stats_;
  nlohmann::ordered_json messages_;
  LineEditor editor_;
};

}  // namespace

int chat(LanguageModel& model, const AnswerOptions& options, const std::string& system, bool stats) {
  return Chat(model, options, system, stats).loop();
}

}  // namespace realizar::cli
