// The report of --trace after an answer, and the file of --trace-file.
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

// The traced answer.
struct TracedAnswer {
  const AnswerOptions& options;
  const StartTimes& start;
  const Answer& answer;
};

// Reports on a finished answer. Standard error gets the configuration, a row for each operation and phase, the phases
// of the time to the first token and the time of each further one; without a trace, or if no table is wanted, only the
// latter. Writes the file in Chrome's trace event format. Clears the trace, so that the next report only covers the
// next answer. Errors: InvalidArgument (cannot write).
Status report_trace(const TraceFlags& flags, LanguageModel& model, const TracedAnswer& traced);

// Likewise for a benchmark's runs.
Status report_trace(const TraceFlags& flags, LanguageModel& model);

}  // namespace realizar::cli
