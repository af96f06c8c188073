#include "cli/chat.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <map>
#include <optional>
#include <sstream>
#include <thread>
#include <tuple>
#include <vector>

#include "base/caught.h"
#include "base/files.h"
#include "base/printable.h"
#include "base/try.h"
#include "cli/chat_settings.h"
#include "cli/command.h"
#include "cli/conversation.h"
#include "cli/interrupt.h"
#include "cli/line_editor.h"
#include "cli/message_input.h"
#include "cli/output.h"
#include "cli/show.h"
#include "cli/tool_box.h"
#include "hub/locate.h"
#include "tools/read_files.h"

namespace realizar::cli {
namespace {

constexpr uint64_t kMaxAttachedBytes = uint64_t{64} << 20;

std::string questions_text(size_t n) {
  return fmt::format("{} question{}", n, n == 1 ? "" : "s");
}

std::string name_of(const ModelInfo& info) {
  return printable(info.name.empty() ? info.path : info.name);
}

// Lets the model work on a separate thread while the user reads and types. A chat works without it.
class IdleWork {
 public:
  explicit IdleWork(LanguageModel& model) {
    if (!model.has_idle_work()) return;
    static_cast<void>(caught([&] {
      thread_ = std::thread([this, &model] {
        while (!stops_.load(std::memory_order_relaxed) && model.has_idle_work()) {
          static_cast<void>(model.idle_step().ok());
        }
      });
    }));
  }
  ~IdleWork() {
    stops_.store(true, std::memory_order_relaxed);
    if (thread_.joinable()) thread_.join();
  }
  IdleWork(const IdleWork&) = delete;
  IdleWork& operator=(const IdleWork&) = delete;

 private:
  std::atomic<bool> stops_{false};
  std::thread thread_;
};

class Chat {
 public:
  Chat(std::unique_ptr<Writer> writer, ChatOptions& options)
      : writer_(std::move(writer)),
        options_(options),
        side_(side_fd(options.answer.json)),
        input_(editing_fd(side_), options.keeps_history && stdin_is_terminal()) {
    conversation_.set_system(options.system);
    if (const Status set = conversation_.set_beginning(options.messages); !set.ok()) complain(set.error());
    input_.complete_by(complete);
    person_ = {side_, options.answer.json, {}};
    if (editing_fd(side_) >= 0) {
      person_.ask = [this](const std::string& question, std::string& line) { return input_.ask(question, line); };
    }
  }

  int loop() {
    say("Chat with " + name_of(writer_->info()) + ". /help lists the commands.\n");
    if (options_.continues && !go_on()) return kFailure;
    std::string message;
    while (!is_over_) {
      switch (read(message)) {
        case LineStatus::kEnd:
          say("\n");
          return exit_code_;
        case LineStatus::kInterrupted:
          if (!stdin_is_terminal()) return kInterrupted;
          say("\n(/quit or Ctrl-D leaves)\n");
          continue;
        case LineStatus::kLine:
          take(message);
      }
    }
    return exit_code_;
  }

 private:
  using Handler = void (Chat::*)(const std::string&);
  struct Command {
    std::vector<std::string> names;  // /help shows the first one
    std::string words;               // arguments, in brackets if optional
    std::string help;
    Handler handler;
    bool takes_path = false;

    bool has_name(const std::string& name) const { return std::find(names.begin(), names.end(), name) != names.end(); }
  };

  static const std::vector<Command>& commands();

  LineStatus read(std::string& message) {
    std::optional<IdleWork> idle_work;
    const bool has_time = stdin_is_terminal() && !options_.trace.wanted();
    if (has_time && writer_->local() != nullptr) idle_work.emplace(*writer_->local());
    return input_.read(message);
  }

  // Completes commands, the settings of /set, and paths.
  static std::vector<std::string> complete(std::string_view line) {
    const size_t end = line.find(' ');
    if (!line.starts_with('/')) return {};
    const std::string first(line.substr(0, end));
    if (end == std::string_view::npos) {
      std::vector<std::string> names;
      for (const Command& command : commands()) names.push_back(command.names[0]);
      return beginning_with(first, std::move(names));
    }
    const std::string_view word = line.substr(line.rfind(' ') + 1);
    if (first == "/set") return beginning_with(word, setting_names());
    const auto command = find_command(first);
    return command != commands().end() && command->takes_path ? complete_path(word) : std::vector<std::string>();
  }

  static std::vector<std::string> beginning_with(std::string_view begun, std::vector<std::string> words) {
    std::erase_if(words, [begun](const std::string& word) { return !word.starts_with(begun); });
    return words;
  }

  static std::vector<Command>::const_iterator find_command(const std::string& name) {
    return std::find_if(commands().begin(), commands().end(),
                        [&](const Command& candidate) { return candidate.has_name(name); });
  }

  void take(const std::string& message) {
    std::istringstream words(message);
    std::string word, rest;
    words >> word >> std::ws;
    std::getline(words, rest, '\0');
    if (word.empty()) return;
    if (rest.empty() && (word == "exit" || word == "quit" || word == "bye")) return quit("");
    // A path is not a command: "What does /etc/hosts contain?"
    const bool is_command = word[0] == '/' && word.find('/', 1) == std::string::npos;
    if (!is_command) return ask(message);
    const auto command = find_command(word);
    if (command == commands().end()) return say("There is no " + printable(word) + "; /help lists the commands.\n");
    rest.erase(rest.find_last_not_of(" \t\n") + 1);  // a completed path is followed by a space
    const bool needs_words = !command->words.empty() && command->words[0] != '[';
    if (needs_words && rest.empty())
      return say(fmt::format("{} {}: {} is missing.\n", word, command->words, command->words));
    (this->*command->handler)(rest);
  }

  void say(const std::string& text) {
    if (side_ != STDOUT_FILENO) {
      std::fputs(text.c_str(), stderr);
    } else if (!print(text)) {
      end(kFailure);
    }
  }
  // Tells the user what has happened.
  void note(const std::string& text) { say(styled("(" + text + ")", Style::kDim, side_) + '\n'); }
  void complain(const Error& error) { fail(error); }

  void end(int exit_code) {
    is_over_ = true;
    exit_code_ = exit_code;
  }

  void help(const std::string&) {
    std::string text;
    for (const Command& command : commands()) {
      text += fmt::format("{:<18} {}\n", command.names[0] + (command.words.empty() ? "" : " " + command.words),
                          command.help);
    }
    say(text +
        "\nA line that ends in \\ continues on the next one; lines between \"\"\" and \"\"\", and pasted lines, are "
        "one message.\nCtrl-C stops an answer, Ctrl-D leaves.\n");
  }

  void quit(const std::string&) { end(kOk); }

  void reset(const std::string&) {
    conversation_.clear();
    say("The conversation is empty.\n");
  }

  void system(const std::string& text) {
    conversation_.set_system(text);
    reset("");
  }

  // Ollama's users write "parameter" before the name, and have a few settings without a value.
  void set(const std::string& assignment) {
    if (assignment.empty()) return say(settings_text(options_.answer));
    std::istringstream words(assignment);
    std::string name, value;
    words >> name >> std::ws;
    if (name == "parameter") words >> name >> std::ws;
    if (name == "system") {
      std::getline(words, value, '\0');
      return system(value);
    }
    words >> value;
    if (name == "verbose" || name == "quiet") {
      options_.stats = name == "verbose";
      return;
    }
    if (const auto translated = translated_setting(name, value)) std::tie(name, value) = *translated;
    if (const auto status = change(name, value); !status.ok()) return complain(status.error());
    settings_[name] = value;
    if (name == "seed") n_seeded_ = 0;
  }

  // Nothing changes if the model cannot use it.
  Status change(const std::string& name, const std::string& value) {
    AnswerOptions changed = options_.answer;
    RZ_CHECK_OK(change_setting(changed, name, value));
    if (changed.form && options_.tools != nullptr) {
      return invalid_argument("format: an answer that is held to a form calls no tools, and this chat has some", name);
    }
    RZ_CHECK_OK(writer_->check_reasoning(changed.reasoning));
    options_.answer = std::move(changed);
    return {};
  }

  void show(const std::string& what) {
    if (what == "system") return say(conversation_.system() + '\n');
    if (what == "parameters") return say(settings_text(options_.answer));
    const auto part = model_part(what.empty() ? "info" : what);
    if (!part) return say("/show info, license, parameters, system or template\n");
    const auto text = model_text(options_.store.library(), options_.model, *part);
    if (!text.ok()) return complain(text.error());
    say(printable(*text, Lines::kMany));
  }

  bool go_on() {
    const auto path = last_chat_path();
    auto loaded = path ? read_last_chat(*path) : not_found("neither HOME nor XDG_STATE_HOME is set", "continue");
    if (!loaded.ok()) {
      complain(loaded.error());
      return false;
    }
    if (!options_.system.empty()) loaded->set_system(options_.system);
    take_over(std::move(*loaded), "the last chat");
    return true;
  }

  void take_over(Conversation loaded, const std::string& from) {
    loaded.set_beginning_of(conversation_);
    conversation_ = std::move(loaded);
    note(fmt::format("{} from {}", questions_text(conversation_.n_questions()), from));
  }

  // For --continue. If messages cannot be kept the user has been told, and this file is in the same folder.
  void keep() {
    const auto path = input_.keeps_history() ? last_chat_path() : std::nullopt;
    if (!path) return;
    if (const Status saved = keep_last_chat(*path, conversation_); !saved.ok()) warn(saved.error().message);
  }

  void tools(const std::string&) {
    say(options_.tools == nullptr ? "There are no tools; --mcp NAME=URL adds a server with tools.\n"
                                  : options_.tools->listing());
  }

  void regenerate(const std::string&) {
    const std::string question = conversation_.take_back();
    if (question.empty()) return say("There is no answer yet.\n");
    ask_as_it_is(question);
  }

  void undo(const std::string&) {
    const std::string question = conversation_.take_back();
    if (question.empty()) return say("There is nothing to undo.\n");
    note("taken back: " + shown(question, 60));
  }

  void stats(const std::string&) {
    if (!last_stats_) return say("There is no answer yet.\n");
    say(stats_text(writer_->info().backend, std::nullopt, *last_stats_) + context_text());
  }

  std::string context_text() const {
    const uint32_t n_used = last_stats_->n_prompt + last_stats_->n_generated;
    std::string text = fmt::format("context         {:8} of {} tokens", n_used, writer_->info().n_ctx);
    if (conversation_.n_left_out() > 0)
      text += fmt::format("; {} left out", questions_text(conversation_.n_left_out()));
    return text + '\n';
  }

  void save(const std::string& path) {
    if (const auto status = check_not_read(path, files_read_for(writer_->info().path)); !status.ok()) {
      return complain(status.error());
    }
    const Status written = write_conversation(path, conversation_, Readers::kAsTheUserHasIt);
    if (!written.ok()) return complain(written.error());
    note("saved in " + printable(path));
  }

  // A name that is not a file is a model's, as in Ollama.
  void load(const std::string& path) {
    const bool is_model = !version_at(path) && hub::locate(options_.store.library(), path).ok();
    if (is_model) return change_model(path);
    auto loaded = read_conversation(path);
    if (!loaded.ok()) return complain(loaded.error());
    take_over(std::move(*loaded), printable(path));
  }

  void attach(const std::string& path) {
    auto text = read_file_or_pipe(path, kMaxAttachedBytes);
    if (!text.ok()) return complain(text.error());
    attached_ += path + ":\n```\n" + *text + (text->ends_with('\n') ? "```\n\n" : "\n```\n\n");
    note(fmt::format("{}, {} bytes, goes with the next message", printable(path), text->size()));
  }

  void change_model(const std::string& path) {
    if (path.empty()) return say(writer_->info().path + '\n');
    // Two models at once might not fit in memory, so the old one is unloaded first, and loaded again if the new one
    // fails.
    const std::string old_path = writer_->info().path;
    if (replace_model(path)) {
      options_.model = path;
      return note("the conversation continues with " + name_of(writer_->info()));
    }
    if (!replace_model(old_path)) end(kFailure);
  }

  bool replace_model(const std::string& path) {
    writer_.reset();
    if (const auto status = load_in_place(path); !status.ok()) {
      complain(status.error());
      return false;
    }
    for (const auto& [name, value] : settings_) {
      if (const auto status = change(name, value); !status.ok()) complain(status.error());
    }
    last_stats_.reset();
    return true;
  }

  Status load_in_place(const std::string& path) {
    RZ_TRY(writer_, options_.open(path));
    RZ_TRY(options_.answer.sampling, writer_->sampling(options_.sampling));
    return options_.tools == nullptr ? Status() : writer_->check_knows_tools(options_.tools->tools());
  }

  void ask(const std::string& message) {
    const std::string question = attached_ + message;
    if (ask_as_it_is(question)) attached_.clear();
  }

  // False if there is no answer; then the question does not stay in the conversation.
  bool ask_as_it_is(const std::string& question) {
    conversation_.ask(question);
    AnswerOptions own = options_.answer;
    // With the same seed for all answers, a repeated question would get the same answer.
    if (own.seed) *own.seed += n_seeded_++;
    const auto answer = answer_question(
        *writer_, conversation_, [this] { return fitting_prompt(); }, own, options_.tools.get(), person_);
    if (!answer.ok()) {
      take_back(answer.error());
      return false;
    }
    last_stats_ = answer->generation.stats;
    keep();
    if (answer->output_failed) {
      end(kFailure);
    } else {
      report(*answer);
    }
    return true;
  }

  void take_back(const Error& error) {
    conversation_.take_back();
    complain(error);
    if (error.code != ErrorCode::kContextLengthExceeded) return;
    say(options_.leaves_out
            ? "The message does not fit, by itself or with the tools' results; --ctx sets a longer context.\n"
            : "/reset starts a new conversation; --ctx sets a longer context; without --no-shift the oldest turns are "
              "dropped.\n");
  }

  Result<Prompt> rendered() const {
    const mcp::Json tools = options_.tools == nullptr ? mcp::Json() : options_.tools->tools();
    return writer_->chat_prompt(conversation_.template_variables(tools), options_.answer.reasoning);
  }

  // The conversation's prompt; the oldest turns are left out if it leaves no room for an answer.
  Result<Prompt> fitting_prompt() {
    const size_t n_left_out_before = conversation_.n_left_out();
    auto prompt = rendered();
    while (prompt.ok() && options_.leaves_out && !has_room(prompt->n_tokens) && conversation_.leave_out_oldest()) {
      prompt = rendered();
    }
    if (prompt.ok() && conversation_.n_left_out() > n_left_out_before) {
      const size_t n = conversation_.n_left_out();
      note(fmt::format("the context of {} tokens is full: {}", writer_->info().n_ctx,
                       n == 1 ? "the oldest question and its answer are dropped"
                              : fmt::format("the {} oldest questions and their answers are dropped", n)));
    }
    return prompt;
  }

  // A quarter of the context is reserved for the answer, if it may be that long.
  bool has_room(size_t n_prompt) const {
    const uint32_t n_ctx = writer_->info().n_ctx;
    const uint32_t n_answer = std::min(n_ctx / 4, options_.answer.max_tokens.value_or(n_ctx));
    return n_prompt + n_answer <= n_ctx;
  }

  void report(const Answer& answer) {
    if (answer.generation.finish_reason == FinishReason::kContext) {
      note(fmt::format("cut off: the context of {} tokens is full; --ctx sets a longer one", writer_->info().n_ctx));
    }
    if (answer.generation.finish_reason == FinishReason::kLength) {
      note(fmt::format("cut off after {} tokens: /set max_tokens none", answer.generation.stats.n_generated));
    }
    if (options_.stats) {
      std::fputs(stats_text(writer_->info().backend, std::nullopt, *last_stats_).c_str(), stderr);
    }
    if (writer_->local() == nullptr) return;
    const Status reported = report_trace(options_.trace, *writer_->local(), {options_.answer, {}, answer});
    if (!reported.ok()) complain(reported.error());
  }

  HeldInterrupt held_;
  std::unique_ptr<Writer> writer_;
  ChatOptions& options_;
  int side_;
  MessageInput input_;
  Person person_;  // decides about tool calls
  Conversation conversation_;
  std::string attached_;                         // files attached to the next message
  std::map<std::string, std::string> settings_;  // changed by /set
  std::optional<GenerationStats> last_stats_;
  uint64_t n_seeded_ = 0;  // answers since the seed was set
  bool is_over_ = false;
  int exit_code_ = kOk;
};

const std::vector<Chat::Command>& Chat::commands() {
  static const std::vector<Command> all = {
      {{"/help", "/?"}, "", "this list", &Chat::help},
      {{"/reset", "/clear", "/new"}, "", "forget the conversation", &Chat::reset},
      {{"/system"}, "[TEXT]", "set the system message (without TEXT: none) and forget the conversation", &Chat::system},
      {{"/regenerate", "/retry"}, "", "answer the last question again", &Chat::regenerate},
      {{"/undo"}, "", "take the last question and its answer back", &Chat::undo},
      {{"/file"}, "FILE", "put a text file before the next message", &Chat::attach, true},
      {{"/save"}, "FILE", "write the conversation to a file", &Chat::save, true},
      {{"/load"}, "FILE", "go on with a conversation that was saved, or with another model", &Chat::load, true},
      {{"/model"}, "[MODEL]", "go on with another model", &Chat::change_model, true},
      {{"/show"}, "[WHAT]", "the model's info, license or template; the system message or the parameters", &Chat::show},
      {{"/set"}, "[NAME VALUE]", "show the settings, or change one", &Chat::set},
      {{"/tools"}, "", "the tools of MCP servers that the model may call", &Chat::tools},
      {{"/stats"}, "", "figures of the last answer", &Chat::stats},
      {{"/quit", "/exit", "/bye", "/q"}, "", "leave", &Chat::quit},
  };
  return all;
}

}  // namespace

int chat(std::unique_ptr<Writer> writer, ChatOptions options) {
  use_utf8_locale();
  return Chat(std::move(writer), options).loop();
}

}  // namespace realizar::cli
