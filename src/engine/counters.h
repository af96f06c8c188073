// What the engine has done and holds, for metrics: written by the engine's thread, read by any.
#pragma once

#include <atomic>
#include <cstdint>

namespace realizar {

struct EngineCounters {
  std::atomic<uint32_t> n_running{0}, n_waiting{0};
  std::atomic<uint32_t> n_blocks{0}, n_held_blocks{0};
  std::atomic<uint64_t> n_steps{0}, step_us{0};  // finished steps and what they took
  std::atomic<uint64_t> n_prompt_tokens{0};      // of requests that reached their first token
  std::atomic<uint64_t> n_generated_tokens{0};
  std::atomic<uint64_t> n_prefix_queried{0}, n_prefix_hits{0};  // prompt tokens looked up, and found, in the cache
  std::atomic<uint64_t> n_preemptions{0};
  std::atomic<uint64_t> n_drafted{0}, n_accepted{0};
};

}  // namespace realizar
