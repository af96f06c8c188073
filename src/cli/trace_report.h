// What --trace prints after an answer, and the file that --trace-file writes.
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

// The answer that a trace is of.
struct TracedAnswer {
  const AnswerOptions& options;
  const StartTimes& start;
  const Answer& answer;
};

// Reports on an answer once it is there. Standard error gets what ran, a row for each operation and phase, then the
// phases of the time to the first token and the time of each further one; without a trace, where no table is wanted,
// the latter alone. Writes the file, in Chrome's trace event format. Forgets the trace, so that the next report is of
// the next answer alone. Errors: InvalidArgument (cannot write).
Status report_trace(const TraceFlags& flags, LanguageModel& model, const TracedAnswer& traced);

// The same of a benchmark's runs.
Status report_trace(const TraceFlags& flags, LanguageModel& model);

}  // namespace realizar::cli
