// A fleet in simulated time: conversations come, a router picks a server for each turn, servers make their steps.
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
  double event_delay_s = 0;  // from a step's end until the router knows of its blocks
  // With clients, each plays one conversation after another, without pauses and whatever their arrival; 0: they come
  // when they arrive.
  uint32_t n_clients = 0;
  // Without clients: no turn begins after `end_s`, and those sent from `begin_s` on are measured.
  double begin_s = 0, end_s = 0;
  // Where more requests than these are open, the fleet is overloaded, and the simulation ends. 0: whatever comes.
  uint64_t max_open = 0;
  bool has_keys = true;  // tenants have keys of their own, and find nothing of each other
  // Servers generate other tokens than those in the next turn's prompt.
  bool has_other_answers = false;
};

struct FleetResult {
  uint64_t n_sent = 0, n_ended = 0;  // requests, all of them; ended: with all of their tokens
  // Figures of the measured requests:
  uint64_t n_measured = 0, n_prompt_tokens = 0, n_cached_tokens = 0, n_output_tokens = 0;
  double first_token_p50_s = 0, first_token_p99_s = 0, first_token_mean_s = 0;
  // The share of the time in which servers were busy: their average, and the busiest one.
  double busy_mean = 0, busy_most = 0;
  uint64_t n_preemptions = 0;
  bool is_overloaded = false;  // the simulation ended before its time
  double seconds = 0;          // simulated, to the last token

  double hit_rate() const {
    return n_prompt_tokens == 0 ? 0 : static_cast<double>(n_cached_tokens) / static_cast<double>(n_prompt_tokens);
  }
};

// Runs until all requests have ended, or the fleet is overloaded. Errors: InvalidArgument, ContextLengthExceeded (a
// request that no server takes).
Result<FleetResult> simulate(const FleetOptions& options, Workload& workload);

}  // namespace realizar::fleet
