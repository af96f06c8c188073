// The record of a call, for logs and metrics.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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
};

}  // namespace realizar::server
