#include "engine/prefix_file.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "backend/backend.h"
#include "base/try.h"

namespace realizar::engine {
namespace {

constexpr uint32_t kVersion = 6;

struct Head {
  char magic[8];
  uint32_t version, block_tokens;
  uint64_t fingerprint, block_bytes, state_bytes, n_blocks, n_states, n_tokens;
  kv::HashKey key;
};
static_assert(sizeof(Head) == 80);
static_assert(sizeof(Head::magic) == kPrefixFileBeginning.size());

uint64_t head_sum(const Head& head, std::span<const TokenId> text) {
  return XXH3_64bits_withSeed(text.data(), text.size_bytes(), XXH3_64bits(&head, sizeof head));
}

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

template <class T>
bool read_value(const FileDescriptor& file, T& value) {
  return read_exactly(file, std::as_writable_bytes(std::span(&value, 1)));
}

Error not_restored(std::string_view why) {
  return invalid_argument(fmt::format("the slot cannot be restored: {}", why), "filename");
}

// The most recently used, at most `max`.
std::vector<BlockId> newest(const kv::BlockPool& pool, uint64_t max) {
  std::vector<BlockId> named = pool.named_blocks();
  named.resize(std::min<uint64_t>(named.size(), max));
  return named;
}

// Offsets in a record.
constexpr size_t kParentAt = 0, kHashAt = 8, kOwnerAt = 16, kTokensAt = 24, kGroupAt = 32, kHeadBytes = 40;
constexpr size_t kSumBytes = 8;

}  // namespace

PrefixRecord::PrefixRecord(uint32_t block_tokens, uint64_t n_bytes)
    : n_token_bytes_(block_tokens * sizeof(TokenId)), all_(size_of(block_tokens, n_bytes)) {}

uint64_t PrefixRecord::size_of(uint32_t block_tokens, uint64_t n_bytes) {
  return kHeadBytes + block_tokens * sizeof(TokenId) + n_bytes + kSumBytes;
}

void PrefixRecord::set(const kv::BlockPool::Name& name, std::span<const std::byte> bytes) {
  set_word(kParentAt, name.parent_hash);
  set_word(kHashAt, name.hash);
  set_word(kOwnerAt, name.owner);
  set_word(kTokensAt, name.tokens.size());
  set_word(kGroupAt, uint64_t{name.group} << 32 | name.n_short_tokens);
  const auto tokens = std::span(all_).subspan(kHeadBytes, n_token_bytes_);
  std::ranges::fill(tokens, std::byte{0});
  std::ranges::copy(std::as_bytes(name.tokens), tokens.begin());
  std::ranges::copy(bytes, all_.begin() + static_cast<std::ptrdiff_t>(kHeadBytes + n_token_bytes_));
  set_word(size() - kSumBytes, sum());
}

kv::BlockPool::Name PrefixRecord::name() const {
  return {.parent_hash = word(kParentAt),
          .hash = word(kHashAt),
          .owner = word(kOwnerAt),
          .tokens = {reinterpret_cast<const TokenId*>(all_.data() + kHeadBytes), word(kTokensAt)},
          .n_short_tokens = static_cast<uint32_t>(word(kGroupAt)),
          .group = static_cast<uint32_t>(word(kGroupAt) >> 32)};
}

std::span<const std::byte> PrefixRecord::bytes() const {
  const size_t begin = kHeadBytes + n_token_bytes_;
  return std::span(all_).subspan(begin, size() - begin - kSumBytes);
}

bool PrefixRecord::is_sound() const {
  const uint64_t n_tokens = word(kTokensAt);
  return n_tokens > 0 && n_tokens <= n_token_bytes_ / sizeof(TokenId) && word(size() - kSumBytes) == sum();
}

uint64_t PrefixRecord::word(size_t at) const {
  uint64_t value = 0;
  std::memcpy(&value, all_.data() + at, sizeof value);
  return value;
}

void PrefixRecord::set_word(size_t at, uint64_t value) {
  std::memcpy(all_.data() + at, &value, sizeof value);
}

uint64_t PrefixRecord::sum() const {
  return XXH3_64bits(all_.data(), size() - kSumBytes);
}

PrefixFileWriter::PrefixFileWriter(NewFile file, const PrefixShape& shape, const PrefixCounts& counts)
    : file_(std::move(file)),
      n_blocks_(counts.n_blocks),
      block_(shape.block_tokens, shape.block_bytes),
      state_(shape.block_tokens, shape.state_bytes) {}

Result<PrefixFileWriter> PrefixFileWriter::create(const std::string& path, const PrefixShape& shape,
                                                  const PrefixCounts& counts, const kv::HashKey& key,
                                                  std::span<const TokenId> text) {
  Head head{.magic = {},
            .version = kVersion,
            .block_tokens = shape.block_tokens,
            .fingerprint = shape.fingerprint,
            .block_bytes = shape.block_bytes,
            .state_bytes = shape.state_bytes,
            .n_blocks = counts.n_blocks,
            .n_states = counts.n_states,
            .n_tokens = text.size(),
            .key = key};
  std::ranges::copy(kPrefixFileBeginning, head.magic);
  const uint64_t sum = head_sum(head, text);
  RZ_TRY(NewFile file, NewFile::create(path, Readers::kOwnerAlone));
  for (const auto bytes : {bytes_of(head), std::as_bytes(text), bytes_of(sum)}) RZ_CHECK_OK(file.write(bytes));
  return PrefixFileWriter(std::move(file), shape, counts);
}

uint64_t PrefixFileWriter::n_bytes(const PrefixShape& shape, const PrefixCounts& counts, uint64_t n_tokens) {
  return sizeof(Head) + n_tokens * sizeof(TokenId) + kSumBytes +
         counts.n_blocks * PrefixRecord::size_of(shape.block_tokens, shape.block_bytes) +
         counts.n_states * PrefixRecord::size_of(shape.block_tokens, shape.state_bytes);
}

Status PrefixFileWriter::write(const kv::BlockPool::Name& name, std::span<const std::byte> bytes) {
  PrefixRecord& record = n_written_++ < n_blocks_ ? block_ : state_;
  record.set(name, bytes);
  return file_.write(record.all());
}

PrefixFileReader::PrefixFileReader(OpenFile file, const PrefixShape& shape)
    : file_(std::move(file.fd)),
      n_bytes_(file.n_bytes),
      shape_(shape),
      block_(shape.block_tokens, shape.block_bytes),
      state_(shape.block_tokens, shape.state_bytes) {}

Result<PrefixFileReader> PrefixFileReader::open(const std::string& path, const PrefixShape& shape) {
  RZ_TRY(OpenFile file, open_regular_file(path));
  PrefixFileReader reader(std::move(file), shape);
  RZ_CHECK_OK(reader.read_head());
  return reader;
}

Status PrefixFileReader::read_head() {
  Head head{};
  if (!read_value(file_, head)) return not_restored("the file is not whole");
  if (!std::ranges::equal(head.magic, kPrefixFileBeginning) || head.version != kVersion) {
    return not_restored("the file was not written by this program");
  }
  const bool is_same = head.fingerprint == shape_.fingerprint && head.block_tokens == shape_.block_tokens &&
                       head.block_bytes == shape_.block_bytes && head.state_bytes == shape_.state_bytes;
  if (!is_same) return not_restored("the file is of another model, or of other settings of the cache");
  if (head.n_tokens > shape_.max_tokens) {
    return not_restored(
        fmt::format("the context has {} tokens, and the file holds {}", shape_.max_tokens, head.n_tokens));
  }
  text_.resize(head.n_tokens);
  uint64_t sum = 0;
  const bool is_whole = read_exactly(file_, std::as_writable_bytes(std::span(text_))) && read_value(file_, sum);
  if (!is_whole) return not_restored("the file is not whole");
  if (sum != head_sum(head, text_)) return not_restored("the file is damaged");
  counts_ = {head.n_blocks, head.n_states};
  key_ = head.key;
  return {};
}

// Every count is checked before the file's length is computed from it.
Status PrefixFileReader::check_is_of_text() const {
  if (text_.empty()) return not_restored("the file was not written by this program");
  const uint64_t max_states = shape_.state_bytes > 0 ? 1 : 0;
  if (counts_.n_blocks > n_bytes_ || counts_.n_states > max_states) return not_restored("the file is damaged");
  const bool is_whole = n_bytes_ == PrefixFileWriter::n_bytes(shape_, counts_, text_.size());
  return is_whole ? Status() : not_restored("the file is not whole");
}

Status PrefixFileReader::read() {
  PrefixRecord& read = n_read_++ < counts_.n_blocks ? block_ : state_;
  if (!read_exactly(file_, read.all())) return not_restored("the file is not whole");
  const bool is_right = read.is_sound() && read.name().group < shape_.n_groups;
  return is_right ? Status() : not_restored("the file is damaged");
}

// In a model with recurrent layers a block is useless without the state after its prefix, so states get up to half of
// the space.
Result<uint32_t> save_prefixes(const std::string& path, const kv::BlockPool& pool, const kv::BlockPool* states,
                               const Backend& backend, const PrefixShape& shape, uint64_t max_bytes) {
  const uint64_t block_size = PrefixRecord::size_of(shape.block_tokens, shape.block_bytes);
  const uint64_t state_size = PrefixRecord::size_of(shape.block_tokens, shape.state_bytes);
  const auto slots = states != nullptr ? newest(*states, max_bytes / 2 / state_size) : std::vector<BlockId>();
  const auto blocks = newest(pool, (max_bytes - slots.size() * state_size) / block_size);
  const PrefixCounts counts{blocks.size(), slots.size()};
  RZ_TRY(PrefixFileWriter file, PrefixFileWriter::create(path, shape, counts, pool.key(), {}));
  std::vector<std::byte> bytes(shape.block_bytes);
  for (const BlockId block : blocks) {
    backend.read_block(block, bytes);
    RZ_CHECK_OK(file.write(pool.name_of(block), bytes));
  }
  bytes.resize(shape.state_bytes);
  for (const BlockId slot : slots) {
    backend.read_state(StateId{to_index(slot)}, bytes);
    RZ_CHECK_OK(file.write(states->name_of(slot), bytes));
  }
  RZ_CHECK_OK(file.commit());
  return static_cast<uint32_t>(blocks.size());
}

uint32_t load_prefixes(const std::string& path, kv::CachePools pools, Backend& backend, const PrefixShape& shape) {
  auto file = PrefixFileReader::open(path, shape);
  if (!file.ok() || !file->text().empty()) return 0;
  pools.blocks->use_key(file->key());
  if (pools.states != nullptr) pools.states->use_key(file->key());
  std::vector<BlockId> blocks, states;
  while (file->has_more() && file->read().ok()) {
    kv::BlockPool* pool = file->is_state() ? pools.states : pools.blocks;
    const auto id = pool != nullptr ? pool->allocate() : std::nullopt;
    if (!id) continue;
    if (file->is_state()) {
      backend.write_state(StateId{to_index(*id)}, file->bytes());
    } else {
      backend.write_block(*id, file->bytes());
    }
    if (pool->restore_name(*id, file->name())) {
      (file->is_state() ? states : blocks).push_back(*id);
    } else {
      pool->release(*id);
    }
  }
  // The least recently used is released first, so that it is also the first to be evicted.
  for (size_t i = blocks.size(); i-- > 0;) pools.blocks->release(blocks[i]);
  for (size_t i = states.size(); i-- > 0;) pools.states->release(states[i]);
  return static_cast<uint32_t>(blocks.size());
}

}  // namespace realizar::engine
