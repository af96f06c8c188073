// One saved prefix as a file, for its owner alone. It tells a prompt.
//
// A file holds "RZSLOT", two bytes of zero, version (u32), block_tokens (u32), fingerprint, block_bytes, state_bytes
// (u64 each), n_tokens, n_groups, has_state, a reserved word, for each group the first of its blocks that is there, and
// short_tokens of each block (u32 each), the tokens (i32 each), the pieces in the order of PrefixLayout, and XXH3 of
// all these (u64). Integers are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"
#include "engine/cached_prefix.h"
#include "realizar/result.h"

struct XXH3_state_s;

namespace realizar::engine {

// XXH3 of bytes that come in parts.
class RunningSum {
 public:
  RunningSum();
  void take(std::span<const std::byte> bytes);
  uint64_t sum() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

class SlotFileWriter {
 public:
  // A new file, which takes the place of an old one on commit. Errors: InvalidArgument (the system's reason).
  static Result<SlotFileWriter> create(const std::string& path, const PrefixShape& shape, const PrefixLayout& layout,
                                       std::span<const TokenId> tokens);
  // Of how many bytes such a file will consist.
  static uint64_t n_bytes(const PrefixShape& shape, const PrefixLayout& layout);

  // The next bytes of the pieces.
  Status write(std::span<const std::byte> bytes);
  Status commit();

 private:
  explicit SlotFileWriter(NewFile file) : file_(std::move(file)) {}

  NewFile file_;
  RunningSum sum_;
};

class SlotFileReader {
 public:
  // Errors: NotFound, InvalidArgument (not such a file, or not of this shape).
  static Result<SlotFileReader> open(const std::string& path, const PrefixShape& shape);

  const PrefixLayout& layout() const { return layout_; }
  const std::vector<TokenId>& tokens() const { return tokens_; }
  uint64_t n_bytes() const { return n_bytes_; }
  // The next bytes of the pieces. Errors: InvalidArgument where the file ends before.
  Status read(std::span<std::byte> bytes);
  // After the last of them: all bytes are as they were written. Errors: InvalidArgument.
  Status check_sum();

 private:
  explicit SlotFileReader(OpenFile file) : file_(std::move(file.fd)), n_bytes_(file.n_bytes) {}
  Status read_head(const PrefixShape& shape);

  FileDescriptor file_;
  uint64_t n_bytes_;
  RunningSum sum_;
  PrefixLayout layout_;
  std::vector<TokenId> tokens_;
};

}  // namespace realizar::engine
