// The identifiers that pass between rooms. They are strong types, because swapping two of them would go unnoticed.
#pragma once

#include <cstdint>

namespace realizar {

enum class TokenId : int32_t {};   // index into the vocabulary
enum class SeqId : uint64_t {};    // one sequence of the engine
enum class BlockId : uint32_t {};  // one block of the KV pool

using Pos = int32_t;  // position in a sequence, 0 for the first token

inline constexpr TokenId kNoToken{-1};

constexpr int32_t to_index(TokenId id) {
  return static_cast<int32_t>(id);
}
constexpr uint32_t to_index(BlockId id) {
  return static_cast<uint32_t>(id);
}

}  // namespace realizar
