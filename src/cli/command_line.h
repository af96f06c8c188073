// Commands and their options. CLI11 parses them behind this door, because its header costs more to compile than all the
// commands do. Values are written while CommandLine::run parses, and must live until the command has run.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace realizar::cli {

// What is said of an option beside its name and help.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option& required();
  Option& with_default();  // the help shows the value from before parsing
  Option& in_range(int min, int max);
  Option& positive();
  Option& one_of(const std::vector<std::string>& words);
  Option& at_most(int n_values);
  Option& one_at_a_time();           // a list that grows by a value each time the option is given
  Option& separated_by(char comma);  // a list in one word
  Option& shown_as(const std::string& text);
  Option& excludes(const Option& other);

  bool is_given() const;  // once parsed

 private:
  CLI::Option* option_;
};

// The options of one command, or a group of them.
class Flags {
 public:
  Flags(CLI::App* app, std::function<int()>* command) : app_(app), command_(command) {}

  // `names`: "-t,--threads", or a word for a positional. T: a string, an integer, std::optional or a list of such; the
  // types in use are instantiated in command_line.cpp.
  template <typename T>
  Option option(const std::string& names, T& value, const std::string& help);
  Option flag(const std::string& names, bool& value, const std::string& help);
  void remove(const std::string& name);

  Flags group(const std::string& title) const;
  // Of its options exactly one has to be given.
  Flags alternatives(const std::string& title, const std::string& help) const;

  // What the command does, and what is wrong with its options together (nothing: an empty text).
  void runs(std::function<int()> command, std::function<std::string()> complaint = {});

 private:
  CLI::App* app_;
  std::function<int()>* command_;
  std::string group_;
};

class CommandLine {
 public:
  CommandLine();
  ~CommandLine();

  Flags command(const std::string& name, const std::string& help);
  // Parses, runs the command that was named, and gives the exit code.
  int run(int argc, char** argv);
  bool has_command(const std::string& name) const;

 private:
  std::unique_ptr<CLI::App> app_;
  std::function<int()> command_;
  bool print_config_ = false;
};

}  // namespace realizar::cli
