// What --trace prints after a run, and the file that --trace-file writes.
#pragma once

#include <string>

#include "cli/command_line.h"
#include "cli/generation.h"
#include "realizar/engine.h"

namespace realizar::cli {

struct TraceFlags {
  bool table = false, token_times = false;
  std::string file;

  void add_to(Flags flags);
  bool wanted() const { return table || !file.empty(); }
};

// On standard error the table, one row an operation and phase, and the phases of the time to the first token with the
// time of each further one; the latter alone where the table is not wanted, without any trace. Writes the file in
// Chrome's trace event format. Errors: InvalidArgument (cannot write).
Status report_trace(const TraceFlags& flags, const LanguageModel& model, const StartTimes& start, const Answer& answer);

// The table alone, as the benchmark prints it.
std::string trace_table_text(const LanguageModel& model);
Status write_trace_file(const std::string& path, const LanguageModel& model);

}  // namespace realizar::cli
