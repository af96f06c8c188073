// Events of KV blocks in vLLM's format since version 0.24 (vllm/distributed/kv_events.py): msgpack of an array [time in
// seconds, [events], data-parallel rank], where each event is a map. A map's "type" is BlockStored, BlockRemoved or
// AllBlocksCleared. Hashes are unsigned 64-bit integers; a block's hash covers all tokens up to its end. llm-d (since
// its KV cache library 0.9) and NVIDIA Dynamo read the fields by name and skip unknown ones. Both index only whole
// blocks: Dynamo skips a block whose number of tokens is not its block size, and llm-d a block whose number of tokens
// is not a multiple of it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/block_events.h"

namespace realizar::server {

// The positions that an engine's groups of layers keep.
struct KvLayout {
  uint32_t block_tokens = 0;
  std::vector<uint32_t> windows;  // of each group, in positions; 0: unlimited
  bool has_states = false;        // recurrent layers, which are one more group
};

class KvBatch {
 public:
  static constexpr size_t kMaxBlocks = 256;  // of an event; also, a message with this many begins no further event

  // Consecutive blocks become one event.
  void add_stored(uint64_t hash, std::optional<uint64_t> parent_hash, std::span<const TokenId> tokens, uint32_t group);
  void add_removed(uint64_t hash, uint32_t group);
  void add_cleared();

  bool is_empty() const { return events_.empty(); }
  // Removes the oldest events, and returns them as the next message.
  std::string take(double time_s, const KvLayout& layout);

 private:
  enum class Kind { kStored, kRemoved, kCleared };
  struct Event {
    Kind kind;
    uint32_t group = 0;
    std::vector<uint64_t> hashes;
    std::optional<uint64_t> parent_hash;
    std::vector<TokenId> tokens;
  };

  static void write_stored(std::string& out, const Event& event, const KvLayout& layout);
  static void write_removed(std::string& out, const Event& event);

  std::deque<Event> events_;
};

}  // namespace realizar::server
