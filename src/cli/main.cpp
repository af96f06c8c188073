#include <csignal>
#include <string>
#include <vector>

#include "base/caught.h"
#include "base/try.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/run_words.h"
#include "cli/server_words.h"

namespace realizar::cli {
namespace {

// The words of a command line; for a call as llama-server, those of the equivalent `realizar serve`.
Result<std::vector<std::string>> words_of(int argc, char** argv) {
  if (argc == 0 || !is_llama_server(argv[0])) return std::vector<std::string>(argv, argv + argc);
  RZ_TRY(ServerWords words, words_of_llama_server({argv + 1, argv + argc}));
  for (const std::string& note : words.notes) warn(note);
  words.words.insert(words.words.begin(), argv[0]);
  return std::move(words.words);
}

int run_main(int argc, char** argv) {
  auto given = words_of(argc, argv);
  if (!given.ok()) {
    fail(given.error());
    return kUsage;
  }
  CommandLine line;
  for (const auto add :
       {add_run,      add_chat,       add_serve,    add_search, add_pull,    add_list,         add_show,
        add_create,   add_ps,         add_stop,     add_rm,     add_cp,      add_prune,        add_inspect,
        add_tokenize, add_detokenize, add_template, add_embed,  add_rerank,  add_logits,       add_perplexity,
        add_quantize, add_imatrix,    add_convert,  add_bench,  add_devices, add_introspection}) {
    add(line);
  }
  // `realizar MODEL ...` is short for `realizar run MODEL ...`.
  const bool names_model = given->size() > 1 && !line.has_command((*given)[1]) && names_a_model((*given)[1]);
  if (names_model) given->insert(given->begin() + 1, "run");
  std::vector<char*> words;
  for (std::string& word : *given) words.push_back(word.data());
  return line.run(static_cast<int>(words.size()), words.data());
}

}  // namespace
}  // namespace realizar::cli

int main(int argc, char** argv) {
  if (!realizar::cli::hold_closed_streams()) return realizar::cli::kFailure;
  // A reader that disappears causes a failed write, which is reported; it must not kill the process.
  std::signal(SIGPIPE, SIG_IGN);
  // Likewise for a file that reaches its size limit.
  std::signal(SIGXFSZ, SIG_IGN);
  const auto code = realizar::caught([&] { return realizar::Result<int>(realizar::cli::run_main(argc, argv)); });
  return code.ok() ? *code : realizar::cli::fail(code.error());
}
