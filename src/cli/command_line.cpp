#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>

#include "cli/command.h"
#include "cli/output.h"
#include "realizar/engine.h"

namespace realizar::cli {

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::with_default() {
  option_->capture_default_str();
  return *this;
}

Option& Option::in_range(int min, int max) {
  option_->check(CLI::Range(min, max));
  return *this;
}

Option& Option::positive() {
  option_->check(CLI::PositiveNumber);
  return *this;
}

Option& Option::one_of(const std::vector<std::string>& words) {
  option_->check(CLI::IsMember(words));
  return *this;
}

Option& Option::at_most(int n_values) {
  option_->expected(0, n_values);
  return *this;
}

Option& Option::one_at_a_time() {
  option_->allow_extra_args(false);
  return *this;
}

Option& Option::separated_by(char comma) {
  option_->delimiter(comma);
  return *this;
}

Option& Option::shown_as(const std::string& text) {
  option_->option_text(text);
  return *this;
}

Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

bool Option::is_given() const {
  return option_->count() > 0;
}

template <typename T>
Option Flags::option(const std::string& names, T& value, const std::string& help) {
  CLI::Option* option = app_->add_option(names, value, help);
  if (!group_.empty()) option->group(group_);
  return Option(option);
}

template Option Flags::option(const std::string&, std::string&, const std::string&);
template Option Flags::option(const std::string&, uint16_t&, const std::string&);
template Option Flags::option(const std::string&, uint32_t&, const std::string&);
template Option Flags::option(const std::string&, uint64_t&, const std::string&);
template Option Flags::option(const std::string&, std::optional<std::string>&, const std::string&);
template Option Flags::option(const std::string&, std::optional<int32_t>&, const std::string&);
template Option Flags::option(const std::string&, std::optional<uint32_t>&, const std::string&);
template Option Flags::option(const std::string&, std::optional<uint64_t>&, const std::string&);
template Option Flags::option(const std::string&, std::optional<float>&, const std::string&);
template Option Flags::option(const std::string&, std::vector<std::string>&, const std::string&);
template Option Flags::option(const std::string&, std::vector<int32_t>&, const std::string&);
template Option Flags::option(const std::string&, std::vector<uint32_t>&, const std::string&);

Option Flags::flag(const std::string& names, bool& value, const std::string& help) {
  CLI::Option* option = app_->add_flag(names, value, help);
  if (!group_.empty()) option->group(group_);
  return Option(option);
}

void Flags::remove(const std::string& name) {
  app_->remove_option(app_->get_option(name));
}

Flags Flags::group(const std::string& title) const {
  Flags group = *this;
  group.group_ = title;
  return group;
}

Flags Flags::alternatives(const std::string& title, const std::string& help) const {
  CLI::Option_group* group = app_->add_option_group(title, help);
  group->require_option(1);
  return {group, command_};
}

void Flags::runs(std::function<int()> command, std::function<std::string()> complaint) {
  app_->callback([to_run = command_, command = std::move(command), complaint = std::move(complaint)] {
    const std::string text = complaint ? complaint() : "";
    if (!text.empty()) throw CLI::ValidationError(text);
    *to_run = command;
  });
}

CommandLine::CommandLine()
    : app_(std::make_unique<CLI::App>("realizar loads a GGUF or SafeTensors language model and generates text with it.",
                                      "realizar")) {
  app_->set_version_flag("--version", std::string("realizar ") + version());
  app_->require_subcommand(1);
  app_->set_help_all_flag("--help-all", "Print the help of all commands");
  app_->footer("Exit codes: 0 success, 1 failure, 2 usage, 130 interrupted. `realizar COMMAND --help` tells more.");
  app_->add_flag("--print-config", print_config_, "Print every option of the command with its value, and exit");
}

CommandLine::~CommandLine() = default;

Flags CommandLine::command(const std::string& name, const std::string& help) {
  CLI::App* command = app_->add_subcommand(name, help);
  command->fallthrough();
  return {command, &command_};
}

int CommandLine::run(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app_->exit(success);
  } catch (const CLI::ParseError& error) {
    const bool is_unknown = argc > 1 && argv[1][0] != '-' && !has_command(argv[1]);
    const std::string what = is_unknown ? std::string("there is no command '") + argv[1] + "'" : error.what();
    warn(what + " (see realizar --help)");
    return kUsage;
  }
  if (print_config_) return print(app_->config_to_str(true, false)) ? kOk : kFailure;
  return command_();
}

bool CommandLine::has_command(const std::string& name) const {
  return !app_->get_subcommands([&](const CLI::App* command) { return command->get_name() == name; }).empty();
}

}  // namespace realizar::cli
