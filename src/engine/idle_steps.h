// Steps that compute nothing of use: before the first request they let a backend prepare for the shapes that steps
// have. They write into the cache, which must hold nothing that is wanted.
#pragma once

#include <cstdint>

#include "backend/backend.h"
#include "realizar/result.h"

namespace realizar::engine {

// What steps of a model may have.
struct IdleBounds {
  BackendLimits limits;
  uint32_t n_positions = 1;  // of a sequence, which all find room in the cache
  uint32_t block_tokens = 32;
  uint32_t n_blocks = 1;  // of the cache
  bool chooses = false;   // the backend chooses tokens, where it can
};

// Runs the largest step of a prompt, and decode rows in every usual number and depth. Errors: as Backend::wait.
Status run_idle_steps(Backend& backend, ProgramId program, const IdleBounds& bounds);

}  // namespace realizar::engine
