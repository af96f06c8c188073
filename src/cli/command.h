// The commands of the program: each file of this folder adds one to the command line. A command runs after parsing and
// gives the exit code: kOk, kFailure (the error is printed already) or, from the parser alone, kUsage.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace realizar::cli {

enum ExitCode : int { kOk = 0, kFailure = 1, kUsage = 2, kInterrupted = 130 };

// What main runs after parsing; set by the subcommand that was named.
using Command = std::function<int()>;

void add_run(CLI::App& app, Command& command);
void add_serve(CLI::App& app, Command& command);
void add_inspect(CLI::App& app, Command& command);
void add_tokenize(CLI::App& app, Command& command);
void add_detokenize(CLI::App& app, Command& command);
void add_template(CLI::App& app, Command& command);
void add_logits(CLI::App& app, Command& command);
void add_perplexity(CLI::App& app, Command& command);
void add_bench(CLI::App& app, Command& command);
void add_devices(CLI::App& app, Command& command);

}  // namespace realizar::cli
