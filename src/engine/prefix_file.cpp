#include "engine/prefix_file.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "base/files.h"

namespace realizar {
namespace {

constexpr char kMagic[8] = {'R', 'Z', 'P', 'R', 'E', 'F', 'I', 'X'};
constexpr uint32_t kVersion = 5;

struct Header {
  char magic[8];
  uint32_t version, block_tokens;
  uint64_t fingerprint, block_bytes, n_blocks;
  HashKey key;
};
static_assert(sizeof(Header) == 56);

// A block as it lies in the file.
class Record {
 public:
  Record(uint32_t block_tokens, size_t block_bytes)
      : n_token_bytes_(block_tokens * sizeof(TokenId)), bytes_(kHeadBytes + n_token_bytes_ + block_bytes + kSumBytes) {}

  size_t size() const { return bytes_.size(); }
  void set_name(const BlockPool::Name& name) {
    set_word(0, name.parent_hash);
    set_word(8, name.hash);
    set_word(16, name.owner);
    set_word(24, name.tokens.size());
    set_word(32, uint64_t{name.group} << 32 | name.n_short_tokens);
    std::ranges::fill(all_tokens(), TokenId{0});
    std::ranges::copy(name.tokens, all_tokens().begin());
  }
  // Only for a sound record.
  BlockPool::Name name() {
    return {.parent_hash = word(0),
            .hash = word(8),
            .owner = word(16),
            .tokens = all_tokens().first(word(24)),
            .n_short_tokens = static_cast<uint32_t>(word(32)),
            .group = static_cast<uint32_t>(word(32) >> 32)};
  }
  std::span<std::byte> block() {
    return std::span(bytes_).subspan(kHeadBytes + n_token_bytes_, size() - kHeadBytes - n_token_bytes_ - kSumBytes);
  }

  void seal() { set_word(size() - kSumBytes, checksum()); }
  bool is_sound() const {
    const uint64_t n_tokens = word(24);
    return n_tokens > 0 && n_tokens <= n_token_bytes_ / sizeof(TokenId) && word(size() - kSumBytes) == checksum();
  }

  Status write_to(NewFile& file) const { return file.write(bytes_); }
  bool read_from(const FileDescriptor& file) { return read_exactly(file, bytes_); }

 private:
  uint64_t word(size_t at) const {
    uint64_t value = 0;
    std::memcpy(&value, bytes_.data() + at, 8);
    return value;
  }
  void set_word(size_t at, uint64_t value) { std::memcpy(bytes_.data() + at, &value, 8); }
  std::span<TokenId> all_tokens() {
    return {reinterpret_cast<TokenId*>(bytes_.data() + kHeadBytes), n_token_bytes_ / sizeof(TokenId)};
  }
  uint64_t checksum() const { return XXH3_64bits(bytes_.data(), size() - kSumBytes); }

  static constexpr size_t kHeadBytes = 40, kSumBytes = 8;

  size_t n_token_bytes_;
  std::vector<std::byte> bytes_;
};

Status write_blocks(std::span<const BlockId> blocks, const BlockPool& pool, const Backend& backend, Record& record,
                    NewFile& file) {
  for (const BlockId block : blocks) {
    record.set_name(pool.name_of(block));
    backend.read_block(block, record.block());
    record.seal();
    RZ_CHECK_OK(record.write_to(file));
  }
  return {};
}

}  // namespace

Result<uint32_t> save_prefixes(const std::string& path, const BlockPool& pool, const Backend& backend,
                               uint64_t fingerprint, uint64_t max_bytes) {
  Record record(pool.block_tokens(), backend.block_bytes());
  std::vector<BlockId> blocks = pool.named_blocks();
  if (blocks.size() > max_bytes / record.size()) blocks.resize(max_bytes / record.size());
  Header header{{}, kVersion, pool.block_tokens(), fingerprint, backend.block_bytes(), blocks.size(), pool.key()};
  std::memcpy(header.magic, kMagic, sizeof kMagic);

  RZ_TRY(NewFile file, NewFile::create(path, Readers::kOwnerAlone));
  RZ_CHECK_OK(file.write(std::as_bytes(std::span(&header, 1))));
  RZ_CHECK_OK(write_blocks(blocks, pool, backend, record, file));
  RZ_CHECK_OK(file.commit());
  return static_cast<uint32_t>(blocks.size());
}

uint32_t load_prefixes(const std::string& path, BlockPool& pool, Backend& backend, uint64_t fingerprint) {
  const auto file = open_regular_file(path);
  Header header{};
  if (!file.ok() || !read_exactly(file->fd, std::as_writable_bytes(std::span(&header, 1)))) return 0;
  const bool is_ours = std::memcmp(header.magic, kMagic, sizeof kMagic) == 0 && header.version == kVersion &&
                       header.block_tokens == pool.block_tokens() && header.fingerprint == fingerprint &&
                       header.block_bytes == backend.block_bytes();
  if (!is_ours) return 0;
  pool.use_key(header.key);
  Record record(pool.block_tokens(), backend.block_bytes());
  // The least recently used first into the free list, so that it is also the first to go.
  std::vector<BlockId> taken;
  for (uint64_t i = 0; i < header.n_blocks && record.read_from(file->fd) && record.is_sound(); ++i) {
    const auto block = pool.allocate();
    if (!block) break;
    backend.write_block(*block, record.block());
    if (pool.restore_name(*block, record.name())) {
      taken.push_back(*block);
    } else {
      pool.release(*block);
    }
  }
  for (size_t i = taken.size(); i-- > 0;) pool.release(taken[i]);
  return static_cast<uint32_t>(taken.size());
}

}  // namespace realizar
