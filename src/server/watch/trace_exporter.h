// Sends traces to a collector in batches, on a separate thread. Adding a trace never waits: the queue is limited, and
// traces that a collector does not accept in time are dropped and counted.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "realizar/result.h"
#include "server/watch/otlp.h"

namespace realizar::server {

class TraceExporter {
 public:
  // `endpoint` as from traces_url(). Errors: InvalidArgument; Unsupported without libcurl.
  static Result<std::unique_ptr<TraceExporter>> open(const std::string& endpoint, OtlpResource resource);
  // Sends the remaining traces, once and for at most two seconds.
  ~TraceExporter();

  // Any thread; never waits.
  void add(RequestTrace trace);
  // Spans that the collector has accepted, and those that it never will.
  uint64_t n_sent() const;
  uint64_t n_lost() const;

 private:
  struct State;
  explicit TraceExporter(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;  // shared with the thread: if it hangs in libcurl, it outlives this
};

}  // namespace realizar::server
