// The commands of the program: each file of this folder adds one to the command line. A command returns the exit code:
// kOk, kFailure (the error is already printed) or kInterrupted; only the parser returns kUsage.
#pragma once

#include "cli/command_line.h"

namespace realizar::cli {

enum ExitCode : int { kOk = 0, kFailure = 1, kUsage = 2, kInterrupted = 130 };

void add_run(CommandLine& line);
void add_chat(CommandLine& line);
void add_serve(CommandLine& line);
void add_inspect(CommandLine& line);
void add_pull(CommandLine& line);
void add_list(CommandLine& line);
void add_search(CommandLine& line);
void add_show(CommandLine& line);
void add_create(CommandLine& line);
void add_ps(CommandLine& line);
void add_stop(CommandLine& line);
void add_rm(CommandLine& line);
void add_cp(CommandLine& line);
void add_prune(CommandLine& line);
void add_tokenize(CommandLine& line);
void add_detokenize(CommandLine& line);
void add_template(CommandLine& line);
void add_embed(CommandLine& line);
void add_rerank(CommandLine& line);
void add_logits(CommandLine& line);
void add_perplexity(CommandLine& line);
void add_quantize(CommandLine& line);
void add_imatrix(CommandLine& line);
void add_convert(CommandLine& line);
void add_bench(CommandLine& line);
void add_devices(CommandLine& line);
void add_introspection(CommandLine& line);  // completion, manual

}  // namespace realizar::cli
