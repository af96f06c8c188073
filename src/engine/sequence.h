// One request on its way: its tokens, its blocks, how far it is computed. All capacity is reserved when it is made.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "realizar/request.h"

namespace realizar {

struct Sequence {
  SeqId id{};
  const Request* request = nullptr;
  Generation* generation = nullptr;  // what becomes of it
  uint32_t n_wanted = 0;             // tokens to generate at most
  std::chrono::steady_clock::time_point started, decode_started;
  std::vector<TokenId> tokens;  // prompt, then output
  std::vector<BlockId> blocks;  // cover at least [0, n_computed)
  uint32_t n_prompt = 0;
  uint32_t n_cached = 0;    // prompt tokens whose keys and values were found in the cache
  uint32_t n_computed = 0;  // positions whose keys and values are in the cache
  uint32_t n_named = 0;     // blocks that were offered to later requests

  bool is_decoding() const { return n_computed >= n_prompt; }
  uint32_t n_generated() const { return static_cast<uint32_t>(tokens.size()) - n_prompt; }
};

}  // namespace realizar
