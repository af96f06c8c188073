// The sampler's state for one request between its tokens. Only a token that the request gets changes it, so wrong
// speculative tokens and recomputed rows leave it as it was.
#pragma once

#include <memory>
#include <optional>

#include "realizar/request.h"

namespace realizar {

struct SamplerState {
  // Mirostat's bound on a token's surprise, in bits; nullopt before the first token.
  std::optional<double> max_surprise;
  // DRY's default, for a request that names none; null: none.
  std::shared_ptr<const SequenceBreakers> breakers;
};

}  // namespace realizar
