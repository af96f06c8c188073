// Counts of shared prefixes, for metrics: written and read by any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace realizar::server {

struct SharedCounters {
  using Count = std::atomic<uint64_t>;

  std::atomic<bool> is_up{false};  // Redis answers
  // Requests that asked, by outcome: some blocks, no useful ones, or the time was over first.
  Count n_hits{0}, n_misses{0}, n_late{0};
  Count n_hit_tokens{0};
  Count n_wait_us{0};                      // of these requests
  Count n_read_bytes{0}, n_sent_bytes{0};  // of values
  Count n_stored_pieces{0};
  Count n_dropped_stores{0};  // requests whose blocks were not sent, since others were being sent
  // Errors: Redis was lost, a value was not the named piece, Redis refused a value (it is full, or a replica).
  Count n_lost{0}, n_bad_values{0}, n_refused{0};
};

}  // namespace realizar::server
