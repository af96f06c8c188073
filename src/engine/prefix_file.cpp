#include "engine/prefix_file.h"

#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "base/files.h"
#include "base/try.h"

namespace realizar::engine {
namespace {

constexpr uint32_t kVersion = 5;

struct Header {
  char magic[8];
  uint32_t version, block_tokens;
  uint64_t fingerprint, block_bytes, n_blocks;
  kv::HashKey key;
};
static_assert(sizeof(Header) == 56);
static_assert(sizeof(Header::magic) == kPrefixFileBeginning.size());

// A block, or a state, as it lies in the file.
class Record {
 public:
  Record(uint32_t block_tokens, size_t block_bytes)
      : n_token_bytes_(block_tokens * sizeof(TokenId)), bytes_(kHeadBytes + n_token_bytes_ + block_bytes + kSumBytes) {}

  size_t size() const { return bytes_.size(); }
  void set_name(const kv::BlockPool::Name& name) {
    set_word(0, name.parent_hash);
    set_word(8, name.hash);
    set_word(16, name.owner);
    set_word(24, name.tokens.size());
    set_word(32, uint64_t{name.group} << 32 | name.n_short_tokens);
    std::ranges::fill(all_tokens(), TokenId{0});
    std::ranges::copy(name.tokens, all_tokens().begin());
  }
  // Only for a sound record.
  kv::BlockPool::Name name() {
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

// Comes after the blocks, where a model has recurrent layers.
struct StatesHeader {
  uint64_t state_bytes, n_states;
};

// read(id, bytes) gives what the backend has of each.
template <class Read>
Status write_records(std::span<const BlockId> ids, const kv::BlockPool& pool, Record& record, NewFile& file,
                     const Read& read) {
  for (const BlockId id : ids) {
    record.set_name(pool.name_of(id));
    read(id, record.block());
    record.seal();
    RZ_CHECK_OK(record.write_to(file));
  }
  return {};
}

// The least recently used goes first into the free list, so that it is also the first to go. write(id, bytes) brings
// bytes to the backend. Gives the number of records that can be found from now on.
template <class Write>
uint32_t read_records(uint64_t n_records, kv::BlockPool& pool, Record& record, const FileDescriptor& file,
                      const Write& write) {
  std::vector<BlockId> taken;
  for (uint64_t i = 0; i < n_records && record.read_from(file) && record.is_sound(); ++i) {
    const auto id = pool.allocate();
    if (!id) break;
    write(*id, record.block());
    if (pool.restore_name(*id, record.name())) {
      taken.push_back(*id);
    } else {
      pool.release(*id);
    }
  }
  for (size_t i = taken.size(); i-- > 0;) pool.release(taken[i]);
  return static_cast<uint32_t>(taken.size());
}

// As many of the most recently used as there is room for.
std::vector<BlockId> newest(const kv::BlockPool& pool, uint64_t max_bytes, const Record& record) {
  std::vector<BlockId> named = pool.named_blocks();
  if (named.size() > max_bytes / record.size()) named.resize(max_bytes / record.size());
  return named;
}

Status write_states(std::span<const BlockId> slots, const kv::BlockPool& pool, const Backend& backend, Record& record,
                    NewFile& file) {
  const StatesHeader header{backend.state_bytes(), slots.size()};
  RZ_CHECK_OK(file.write(std::as_bytes(std::span(&header, 1))));
  return write_records(slots, pool, record, file, [&](BlockId slot, std::span<std::byte> bytes) {
    backend.read_state(StateId{to_index(slot)}, bytes);
  });
}

// `begin`: of the section in the file.
void read_states(const FileDescriptor& file, uint64_t begin, kv::BlockPool& pool, Backend& backend) {
  StatesHeader header{};
  const bool is_there = ::lseek(file.get(), static_cast<off_t>(begin), SEEK_SET) >= 0 &&
                        read_exactly(file, std::as_writable_bytes(std::span(&header, 1)));
  if (!is_there || header.state_bytes != backend.state_bytes()) return;
  Record record(pool.block_tokens(), header.state_bytes);
  read_records(header.n_states, pool, record, file, [&](BlockId slot, std::span<const std::byte> bytes) {
    backend.write_state(StateId{to_index(slot)}, bytes);
  });
}

}  // namespace

// Without the states after its prefixes a block of a model with recurrent layers is of no use, so states have up to
// half of the room.
Result<uint32_t> save_prefixes(const std::string& path, const kv::BlockPool& pool, const kv::BlockPool* states,
                               const Backend& backend, uint64_t fingerprint, uint64_t max_bytes) {
  Record record(pool.block_tokens(), backend.block_bytes()), state(pool.block_tokens(), backend.state_bytes());
  const auto slots = states != nullptr ? newest(*states, max_bytes / 2, state) : std::vector<BlockId>();
  const auto blocks = newest(pool, max_bytes - slots.size() * state.size(), record);
  Header header{{}, kVersion, pool.block_tokens(), fingerprint, backend.block_bytes(), blocks.size(), pool.key()};
  std::ranges::copy(kPrefixFileBeginning, header.magic);

  RZ_TRY(NewFile file, NewFile::create(path, Readers::kOwnerAlone));
  RZ_CHECK_OK(file.write(std::as_bytes(std::span(&header, 1))));
  RZ_CHECK_OK(write_records(blocks, pool, record, file,
                            [&](BlockId block, std::span<std::byte> bytes) { backend.read_block(block, bytes); }));
  if (states != nullptr) RZ_CHECK_OK(write_states(slots, *states, backend, state, file));
  RZ_CHECK_OK(file.commit());
  return static_cast<uint32_t>(blocks.size());
}

uint32_t load_prefixes(const std::string& path, kv::CachePools pools, Backend& backend, uint64_t fingerprint) {
  kv::BlockPool& pool = *pools.blocks;
  const auto file = open_regular_file(path);
  Header header{};
  if (!file.ok() || !read_exactly(file->fd, std::as_writable_bytes(std::span(&header, 1)))) return 0;
  const bool is_ours = std::ranges::equal(header.magic, kPrefixFileBeginning) && header.version == kVersion &&
                       header.block_tokens == pool.block_tokens() && header.fingerprint == fingerprint &&
                       header.block_bytes == backend.block_bytes();
  if (!is_ours) return 0;
  pool.use_key(header.key);
  if (pools.states != nullptr) pools.states->use_key(header.key);
  Record record(pool.block_tokens(), backend.block_bytes());
  const uint32_t n_blocks =
      read_records(header.n_blocks, pool, record, file->fd,
                   [&](BlockId block, std::span<const std::byte> bytes) { backend.write_block(block, bytes); });
  const bool may_have_states = pools.states != nullptr && header.n_blocks <= file->n_bytes / record.size();
  if (may_have_states) {
    read_states(file->fd, sizeof header + header.n_blocks * record.size(), *pools.states, backend);
  }
  return n_blocks;
}

}  // namespace realizar::engine
