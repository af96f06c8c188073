#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <exception>
#include <string>

#include "cli/command.h"
#include "cli/output.h"
#include "realizar/engine.h"

namespace realizar::cli {
namespace {

int run_main(int argc, char** argv) {
  CLI::App app("realizar loads a GGUF or SafeTensors language model and generates text with it.", "realizar");
  app.set_version_flag("--version", std::string("realizar ") + version());
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Print the help of all commands");
  app.footer("Exit codes: 0 success, 1 failure, 2 usage, 130 interrupted. `realizar COMMAND --help` tells more.");
  bool print_config = false;
  app.add_flag("--print-config", print_config, "Print every option of the command with its value, and exit");

  Command command;
  add_run(app, command);
  add_serve(app, command);
  add_inspect(app, command);
  add_tokenize(app, command);
  add_detokenize(app, command);
  add_template(app, command);
  add_logits(app, command);
  add_perplexity(app, command);
  add_bench(app, command);
  add_devices(app, command);
  for (CLI::App* sub : app.get_subcommands([](CLI::App*) { return true; })) sub->fallthrough();

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    const auto commands = app.get_subcommands([](CLI::App*) { return true; });
    const bool names_a_command = argc > 1 && std::any_of(commands.begin(), commands.end(), [argv](const CLI::App* sub) {
                                   return sub->get_name() == argv[1];
                                 });
    if (argc > 1 && argv[1][0] != '-' && !names_a_command) {
      warn(std::string("there is no command '") + argv[1] + "' (see realizar --help)");
      return kUsage;
    }
    warn(std::string(error.what()) + " (see realizar --help)");
    return kUsage;
  }
  if (print_config) return print(app.config_to_str(true, false)) ? kOk : kFailure;
  return command();
}

}  // namespace
}  // namespace realizar::cli

int main(int argc, char** argv) {
  // A reader that goes away shows as a failed write, which is reported; it must not kill the process.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return realizar::cli::run_main(argc, argv);
  } catch (const std::bad_alloc&) {
    realizar::cli::warn("ResourceExhausted: out of memory");
  } catch (const std::exception& error) {
    realizar::cli::warn(std::string("Internal: ") + error.what());
  }
  return realizar::cli::kFailure;
}
