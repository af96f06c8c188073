#include <csignal>
#include <string>
#include <vector>

#include "base/caught.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/run_words.h"

namespace realizar::cli {
namespace {

int run_main(int argc, char** argv) {
  CommandLine line;
  add_run(line);
  add_chat(line);
  add_serve(line);
  add_inspect(line);
  add_tokenize(line);
  add_detokenize(line);
  add_template(line);
  add_embed(line);
  add_rerank(line);
  add_logits(line);
  add_perplexity(line);
  add_bench(line);
  add_devices(line);
  add_introspection(line);
  // `realizar MODEL ...` is the shortest way to `realizar run MODEL ...`.
  std::vector<char*> words(argv, argv + argc);
  std::string run = "run";
  if (argc > 1 && !line.has_command(argv[1]) && names_a_model(argv[1])) words.insert(words.begin() + 1, run.data());
  return line.run(static_cast<int>(words.size()), words.data());
}

}  // namespace
}  // namespace realizar::cli

int main(int argc, char** argv) {
  // A reader that goes away shows as a failed write, which is reported; it must not kill the process.
  std::signal(SIGPIPE, SIG_IGN);
  const auto code = realizar::caught([&] { return realizar::Result<int>(realizar::cli::run_main(argc, argv)); });
  return code.ok() ? *code : realizar::cli::fail(code.error());
}
