// Sends traces to a collector, on a thread of its own, in batches. Whoever has a trace never waits: the queue has a
// bound, and what a collector that is slow, gone or refusing does not take is dropped and counted.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "realizar/result.h"
#include "server/watch/otlp.h"

namespace realizar::server {

class TraceExporter {
 public:
  // `endpoint` as traces_url() has it. Errors: InvalidArgument; Unsupported without libcurl.
  static Result<std::unique_ptr<TraceExporter>> open(const std::string& endpoint, OtlpResource resource);
  // Sends what waits, once and for two seconds at most.
  ~TraceExporter();

  // Any thread; never waits.
  void add(RequestTrace trace);
  // Spans that the collector has taken, and that it has not and will not get.
  uint64_t n_sent() const;
  uint64_t n_lost() const;

 private:
  struct State;
  explicit TraceExporter(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;  // the thread's too: one that hangs in libcurl outlives this
};

}  // namespace realizar::server
