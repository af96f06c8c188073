// What the sampler keeps of one request between its tokens. It changes with each token that the request gets and with
// nothing else, so that guesses which were wrong, and rows that are computed again, leave it as it was.
#pragma once

#include <memory>
#include <optional>

#include "realizar/request.h"

namespace realizar {

struct SamplerState {
  // Mirostat's bound on a token's surprise, in bits; nothing before the first token.
  std::optional<double> max_surprise;
  // DRY's, of a request that names none; null: none.
  std::shared_ptr<const SequenceBreakers> breakers;
};

}  // namespace realizar
