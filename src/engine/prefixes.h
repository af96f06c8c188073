// The engine's cache: its blocks and slots for states, and the prefixes of earlier requests that later ones can find.
// They can be saved, loaded, forgotten and wiped, all of them or one at a time (cached_prefix.h). The engine's thread
// calls, between steps, unless a function says otherwise.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/state_layout.h"
#include "engine/cached_prefix.h"
#include "engine/counters.h"
#include "engine/engine_options.h"
#include "engine/text_pieces.h"
#include "kv/block_pool.h"
#include "kv/sequence_cache.h"
#include "realizar/result.h"

namespace realizar {
class Backend;
struct ModelConfig;
}  // namespace realizar

namespace realizar::engine {

class BlockEvents;
class HostBlocks;

class Prefixes {
 public:
  // `backend`, which has created its cache, `config` and `counters` must outlive it.
  Prefixes(const ModelConfig& config, Backend& backend, const EngineOptions& options, EngineCounters& counters);
  ~Prefixes();

  kv::BlockPool& blocks() { return blocks_; }
  const kv::BlockPool& blocks() const { return blocks_; }
  const kv::BlockPool* states() const { return states_.get(); }  // null: no layer is recurrent
  kv::CachePools pools() { return {blocks_, states_.get()}; }
  const LayerGroups& groups() const { return groups_; }

  // The cache_salt for `name`. No client can compute another's. Any thread, after load.
  uint64_t salt_of(std::string_view name) const { return blocks_.salt_of(name); }
  // Forgets all prefixes, or those of `tenant`'s requests.
  void forget(std::optional<uint64_t> tenant);
  // Zeroes data of ended requests that is not part of a prefix, at most max_blocks. True when all is done. Running
  // requests keep theirs.
  bool wipe_some(uint32_t max_blocks);

  // Saves the prefixes to a file, or loads them from it, while nothing runs. `source` identifies the program and the
  // bytes of the weights; everything else that determines a block's bytes is added to it. Both return the number of
  // blocks. Loading a file forgets everything cached before. Errors: InvalidArgument if the file cannot be written.
  Result<uint32_t> save(const std::string& path, uint64_t source, uint64_t max_bytes) const;
  uint32_t load(const std::string& path, uint64_t source);

  // One prefix, out of the cache and into it.
  HeldPrefix hold(std::span<const TokenId> tokens, uint64_t cache_salt);
  std::unique_ptr<NewPrefix> begin(std::vector<TokenId> tokens);
  void name(NewPrefix& added, uint64_t cache_salt, uint64_t owner);
  uint32_t forget_one(std::span<const TokenId> tokens, uint64_t cache_salt);
  // The pieces of a text's whole blocks; added ones become `owner`'s. Any thread, after load; it hashes the text.
  TextPieces pieces_of(std::vector<TokenId> tokens, uint64_t cache_salt, uint64_t owner);
  // The shape that files of prefixes must match. Any thread.
  PrefixShape shape(uint64_t source) const;

  // Reports changes of the names of whole blocks from now on, and the existing names. Call before the engine's thread
  // begins and after loading. Ends with this object.
  std::shared_ptr<BlockEvents> watch_blocks();

  // Updates the counters of held and named blocks.
  void publish_counters() const;

 private:
  uint64_t fingerprint(uint64_t source) const;

  const ModelConfig& config_;
  Backend& backend_;
  const KvType kv_type_;
  const uint32_t n_ctx_;
  EngineCounters& counters_;
  const std::unique_ptr<HostBlocks> host_blocks_;
  const LayerGroups groups_;
  kv::BlockPool blocks_;
  const std::unique_ptr<kv::BlockPool> states_;
  std::shared_ptr<BlockEvents> events_;  // null: no watcher
};

}  // namespace realizar::engine
