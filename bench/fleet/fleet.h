// A fleet in simulated time: conversations arrive, a router chooses a server for each turn, servers run their steps.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "realizar/result.h"
#include "router.h"
#include "server.h"
#include "workload.h"

namespace realizar::fleet {

struct FleetOptions {
  ServerOptions server;
  RouterOptions router;
  uint64_t seed = 0;         // of the servers' noise
  double event_delay_s = 0;  // from a step's end until the router learns of its blocks
  // With clients, each plays one conversation after another, without pauses and regardless of their arrival; 0: they
  // begin when they arrive.
  uint32_t n_clients = 0;
  // Without clients: no turn begins after `end_s`, and those sent from `begin_s` on are measured.
  double begin_s = 0, end_s = 0;
  // If more requests are open, the fleet is overloaded, and the simulation ends. 0: unlimited.
  uint64_t max_open = 0;
  bool has_keys = true;  // tenants have separate keys, and do not share cached prefixes
  // Servers generate different tokens from those in the next turn's prompt.
  bool has_other_answers = false;
};

struct FleetResult {
  uint64_t n_sent = 0, n_ended = 0;  // all requests; ended: with all of their tokens
  // For the measured requests:
  uint64_t n_measured = 0, n_prompt_tokens = 0, n_cached_tokens = 0, n_output_tokens = 0;
  double first_token_p50_s = 0, first_token_p99_s = 0, first_token_mean_s = 0;
  // The share of time in which servers were busy: the mean, and the busiest one's.
  double busy_mean = 0, busy_most = 0;
  uint64_t n_preemptions = 0;
  bool is_overloaded = false;  // the simulation ended early
  double seconds = 0;          // simulated, to the last token

  double hit_rate() const {
    return n_prompt_tokens == 0 ? 0 : static_cast<double>(n_cached_tokens) / static_cast<double>(n_prompt_tokens);
  }
};

// Runs until all requests have ended, or the fleet is overloaded. Errors: InvalidArgument, ContextLengthExceeded (a
// request that no server accepts).
Result<FleetResult> simulate(const FleetOptions& options, Workload& workload);

}  // namespace realizar::fleet
