// The access log: one JSON object per line for each answered request.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/result.h"
#include "server/http/http.h"
#include "server/watch/line_writer.h"

namespace realizar::server {

// The data on a call for the access log and traces, apart from its HTTP side.
struct CallRecord {
  std::string model;
  uint32_t n_prompt = 0, n_cached = 0, n_generated = 0;
  double load_ms = 0, prepare_ms = 0, queue_ms = 0, prefill_ms = 0, first_token_ms = 0, decode_ms = 0;
  std::string finish_reason;
  struct Counts {
    uint32_t n_prompt, n_cached, n_generated;
  };
  std::vector<Counts> prompts;  // one per prompt, if there are several
  std::string prompt;           // only if prompts are logged
  std::string warning;          // also for the client, in a header: printable ASCII

  // For traces. When the engine got the first choice (zero: never), and the time from then to the first step of any
  // choice, its first token, and the end of the last one (0: unknown).
  std::chrono::steady_clock::time_point submitted{};
  double until_step_ms = 0, until_token_ms = 0, until_end_ms = 0;
  uint32_t n_told = 0;                      // tokens reported by the engine, including choices that have not ended
  std::string asked_model;                  // as named in the request
  std::vector<std::string> finish_reasons;  // of the first choices that ended
};

// One line: a request and its outcome.
struct AccessLogEntry {
  const HttpRequest& request;
  const CallRecord& record;
  std::string_view id;
  std::string traceparent;
  int status;
  double total_ms;
};

class AccessLog {
 public:
  // "": no log; "-": standard error; otherwise a file to append to, accessible only to its owner if lines have prompts.
  // Errors: InvalidArgument (not writable).
  static Result<AccessLog> open(const std::string& path, bool has_prompts);
  // Continues in the file that now has the name.
  void reopen();
  bool is_on() const { return writer_ != nullptr; }
  // Never waits: a full disk, or a pipe whose reader stalls, only loses lines.
  void write(const AccessLogEntry& entry);
  uint64_t n_lost_lines() const { return is_on() ? writer_->n_lost() : 0; }

 private:
  std::unique_ptr<LineWriter> writer_;
};

}  // namespace realizar::server
