// From argv to the command that runs.
#pragma once

#include <string>
#include <vector>

#include "cli/command_table.h"
#include "cli/flags.h"
#include "realizar/result.h"

namespace realizar::cli {

class CommandLine {
 public:
  CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  Flags command(const std::string& name, const std::string& help);
  // Parses, runs the named command, and returns the exit code.
  int run(int argc, char** argv);

  bool has_command(const std::string& name) { return table_.find(name) != nullptr; }
  CommandTable& table() { return table_; }

 private:
  int run_without_command(const std::vector<std::string>& words) const;
  int run_command(CommandRow& command, const std::vector<std::string>& words);
  int run_in_job(CommandRow& command);
  Status read_values(CommandRow& command);
  Status read_config_files(CommandRow& command);

  bool help_all_ = false, help_ = false, version_ = false, print_config_ = false;
  std::string config_file_;
  CommandTable table_;
};

}  // namespace realizar::cli
