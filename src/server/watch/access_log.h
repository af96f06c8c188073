// The access log: one JSON object a line for each request that was answered.
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

// What the access log and traces say of a call, apart from its HTTP side.
struct CallRecord {
  std::string model;
  uint32_t n_prompt = 0, n_cached = 0, n_generated = 0;
  double load_ms = 0, prepare_ms = 0, queue_ms = 0, prefill_ms = 0, first_token_ms = 0, decode_ms = 0;
  std::string finish_reason;
  struct Counts {
    uint32_t n_prompt, n_cached, n_generated;
  };
  std::vector<Counts> prompts;  // of each, where there are several
  std::string prompt;           // only where prompts are logged
  std::string warning;          // for the client too, in a header: printable ASCII

  // For traces. When the engine got the first choice (zero: it got none), and the time from then to the first step of
  // any choice, its first token, and the end of the last one (0: not known).
  std::chrono::steady_clock::time_point submitted{};
  double until_step_ms = 0, until_token_ms = 0, until_end_ms = 0;
  uint32_t n_told = 0;                      // tokens that the engine told of, also of choices that have not ended
  std::string asked_model;                  // as the request names it
  std::vector<std::string> finish_reasons;  // of the first choices that ended
};

// One line: a request and what became of it.
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
  // "": no log; "-": standard error; else a file that is appended to, for its owner alone where lines have prompts.
  // Errors: InvalidArgument (it cannot be written).
  static Result<AccessLog> open(const std::string& path, bool has_prompts);
  // Goes on in what has the file's name now.
  void reopen();
  bool is_on() const { return writer_ != nullptr; }
  // Never waits: a full disk, or a pipe whose reader sleeps, costs lines and no requests.
  void write(const AccessLogEntry& entry);
  uint64_t n_lost_lines() const { return is_on() ? writer_->n_lost() : 0; }

 private:
  std::unique_ptr<LineWriter> writer_;
};

}  // namespace realizar::server
