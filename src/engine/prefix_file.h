// Cached prefixes on disk: KV blocks and states of recurrent layers in the backend's format, each with its name. A file
// of --cache-dir holds everything that an engine has cached, a file of --slot-save-path the cached part of one text.
// Both reveal prompts, and the first one the key of the blocks' names: only their owner may read them.
//
// A file holds "RZPREFIX", version, block_tokens (u32 each), fingerprint, block_bytes, state_bytes, n_blocks, n_states,
// n_tokens (u64 each), the key (two u64), the text's tokens (i32 each; none for a file of --cache-dir), and a checksum
// (u64): XXH3 of the tokens, with XXH3 of everything before them as the seed. The records follow, those of blocks
// first. A record holds its parent's hash, its own hash, its owner, the number of tokens that its name covers (u64
// each), how many of them a second name covers and the group of layers (u32 each), the tokens and zeros up to
// block_tokens (i32 each), its bytes, and XXH3 of all these (u64). Integers are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "engine/cached_prefix.h"
#include "kv/sequence_cache.h"
#include "realizar/result.h"

namespace realizar {
class Backend;
}

namespace realizar::engine {

// The beginning of such a file, in every version.
inline constexpr std::string_view kPrefixFileBeginning = "RZPREFIX";

// A block or a state in the file's format.
class PrefixRecord {
 public:
  PrefixRecord(uint32_t block_tokens, uint64_t n_bytes);
  static uint64_t size_of(uint32_t block_tokens, uint64_t n_bytes);

  void set(const kv::BlockPool::Name& name, std::span<const std::byte> bytes);
  // Both are valid only for an undamaged record.
  kv::BlockPool::Name name() const;
  std::span<const std::byte> bytes() const;
  bool is_sound() const;

  std::span<std::byte> all() { return all_; }
  uint64_t size() const { return all_.size(); }

 private:
  uint64_t word(size_t at) const;
  void set_word(size_t at, uint64_t value);
  uint64_t sum() const;

  size_t n_token_bytes_;
  std::vector<std::byte> all_;
};

class PrefixFileWriter {
 public:
  // A new file, which replaces an old one on commit. Errors: InvalidArgument (the system's reason).
  static Result<PrefixFileWriter> create(const std::string& path, const PrefixShape& shape, const PrefixCounts& counts,
                                         const kv::HashKey& key, std::span<const TokenId> text);
  // The size of such a file.
  static uint64_t n_bytes(const PrefixShape& shape, const PrefixCounts& counts, uint64_t n_tokens);

  // Appends a block or state.
  Status write(const kv::BlockPool::Name& name, std::span<const std::byte> bytes);
  Status commit() { return file_.commit(); }

 private:
  PrefixFileWriter(NewFile file, const PrefixShape& shape, const PrefixCounts& counts);

  NewFile file_;
  uint64_t n_blocks_, n_written_ = 0;
  PrefixRecord block_, state_;
};

class PrefixFileReader {
 public:
  // Errors: NotFound, InvalidArgument (not such a file, or not of this shape).
  static Result<PrefixFileReader> open(const std::string& path, const PrefixShape& shape);
  // Checks that the file holds one text, with all of its records. Errors: InvalidArgument.
  Status check_is_of_text() const;

  const PrefixCounts& counts() const { return counts_; }
  const kv::HashKey& key() const { return key_; }
  const std::vector<TokenId>& text() const { return text_; }
  uint64_t n_bytes() const { return n_bytes_; }
  bool has_more() const { return n_read_ < counts_.n_blocks + counts_.n_states; }
  // Reads the next block or state. Errors: InvalidArgument if the file ends before it, or is damaged there.
  Status read();
  // The block or state that was read last, valid until the next call.
  kv::BlockPool::Name name() const { return record().name(); }
  std::span<const std::byte> bytes() const { return record().bytes(); }
  bool is_state() const { return n_read_ > counts_.n_blocks; }

 private:
  PrefixFileReader(OpenFile file, const PrefixShape& shape);
  Status read_head();
  const PrefixRecord& record() const { return is_state() ? state_ : block_; }

  FileDescriptor file_;
  uint64_t n_bytes_, n_read_ = 0;  // records
  PrefixShape shape_;
  PrefixCounts counts_;
  kv::HashKey key_{};
  std::vector<TokenId> text_;
  PrefixRecord block_, state_;
};

// Writes the named blocks and states, most recently used first, at most max_bytes. Returns the number of blocks.
// Errors: InvalidArgument (cannot be written, with the system's reason); the old file is then unchanged.
Result<uint32_t> save_prefixes(const std::string& path, const kv::BlockPool& pool, const kv::BlockPool* states,
                               const Backend& backend, const PrefixShape& shape, uint64_t max_bytes);

// Loads the key, blocks and states into the free lists of idle pools, whose names are forgotten, until they are full; a
// damaged record and all after it are left out. Returns the number of blocks; 0 if there is no file of this shape.
uint32_t load_prefixes(const std::string& path, kv::CachePools pools, Backend& backend, const PrefixShape& shape);

}  // namespace realizar::engine
