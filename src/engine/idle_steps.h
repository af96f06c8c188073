// Steps without useful results: before the first request they let a backend prepare for the usual shapes of steps. They
// overwrite the cache.
#pragma once

#include <cstdint>

#include "backend/backend.h"
#include "realizar/result.h"

namespace realizar::engine {

// Limits of a model's steps.
struct IdleBounds {
  BackendLimits limits;
  uint32_t n_positions = 1;  // of each sequence; all fit in the cache
  uint32_t block_tokens = 32;
  uint32_t n_blocks = 1;  // of the cache
  bool chooses = false;   // the backend chooses tokens, if it can
};

// Runs the largest prompt step, and decode rows in every usual number and depth. Errors: as Backend::wait.
Status run_idle_steps(Backend& backend, ProgramId program, const IdleBounds& bounds);

}  // namespace realizar::engine
