// Steps that compute nothing of use: before the first request they let a backend take its memory, and prepare for the
// shapes that steps have. They write into the cache, which must hold nothing that is wanted.
#pragma once

#include <cstdint>

#include "backend/backend.h"
#include "model/decoder.h"
#include "realizar/result.h"

namespace realizar {

// What steps of a model may have.
struct IdleBounds {
  BackendLimits limits;
  uint32_t n_positions = 1;  // of a sequence, which all find room in the cache
  uint32_t block_tokens = 32;
  uint32_t n_blocks = 1;  // of the cache
  bool chooses = false;   // the backend chooses tokens, where it can
};

class IdleSteps {
 public:
  // `decoder` must outlive it.
  IdleSteps(Decoder& decoder, const Backend& backend, const IdleBounds& bounds);

  // Takes the memory that steps within the bounds need. Errors: as Backend::reserve.
  Status reserve();
  // Runs the largest step of a prompt, and decode rows in every usual number and depth. Errors: as Backend::wait.
  Status run_usual();

 private:
  Status run(uint32_t n_seqs, uint32_t first_pos, uint32_t n_rows_each);

  Decoder& decoder_;
  IdleBounds bounds_;
  bool chooses_;
};

}  // namespace realizar
