#include "engine/prefix_file.h"

#include <xxhash.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace realizar {
namespace {

constexpr char kMagic[8] = {'R', 'Z', 'P', 'R', 'E', 'F', 'I', 'X'};
constexpr uint32_t kVersion = 1;

struct Header {
  char magic[8];
  uint32_t version, block_tokens;
  uint64_t fingerprint, block_bytes, n_blocks;
};
static_assert(sizeof(Header) == 40);

struct CloseFile {
  void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

// A block as it lies in the file.
class Record {
 public:
  Record(uint32_t block_tokens, size_t block_bytes)
      : n_token_bytes_(block_tokens * sizeof(TokenId)), bytes_(16 + n_token_bytes_ + block_bytes + 8) {}

  size_t size() const { return bytes_.size(); }
  void set_hashes(uint64_t parent, uint64_t own) {
    std::memcpy(bytes_.data(), &parent, 8);
    std::memcpy(bytes_.data() + 8, &own, 8);
  }
  uint64_t parent_hash() const { return word(0); }
  uint64_t hash() const { return word(8); }
  std::span<TokenId> tokens() {
    return {reinterpret_cast<TokenId*>(bytes_.data() + 16), n_token_bytes_ / sizeof(TokenId)};
  }
  std::span<std::byte> block() { return std::span(bytes_).subspan(16 + n_token_bytes_, size() - 24 - n_token_bytes_); }

  void seal() {
    const uint64_t sum = checksum();
    std::memcpy(bytes_.data() + size() - 8, &sum, 8);
  }
  bool is_sound() const { return word(size() - 8) == checksum(); }

  bool write_to(std::FILE* file) const { return std::fwrite(bytes_.data(), 1, size(), file) == size(); }
  bool read_from(std::FILE* file) { return std::fread(bytes_.data(), 1, size(), file) == size(); }

 private:
  uint64_t word(size_t at) const {
    uint64_t value = 0;
    std::memcpy(&value, bytes_.data() + at, 8);
    return value;
  }
  uint64_t checksum() const { return XXH3_64bits(bytes_.data(), size() - 8); }

  size_t n_token_bytes_;
  std::vector<std::byte> bytes_;
};

Error cannot_write(const std::string& path) {
  return invalid_argument("cannot write " + path + ": " + std::strerror(errno), path);
}

}  // namespace

Result<uint32_t> save_prefixes(const std::string& path, const BlockPool& pool, const Backend& backend,
                               uint64_t fingerprint, uint64_t max_bytes) {
  Record record(pool.block_tokens(), backend.block_bytes());
  std::vector<BlockId> blocks = pool.named_blocks();
  if (blocks.size() > max_bytes / record.size()) blocks.resize(max_bytes / record.size());
  Header header{{}, kVersion, pool.block_tokens(), fingerprint, backend.block_bytes(), blocks.size()};
  std::memcpy(header.magic, kMagic, sizeof kMagic);

  const std::string fresh = path + ".new";
  File file(std::fopen(fresh.c_str(), "wbe"));
  bool written = file != nullptr && std::fwrite(&header, sizeof header, 1, file.get()) == 1;
  for (size_t i = 0; written && i < blocks.size(); ++i) {
    const BlockPool::Name name = pool.name_of(blocks[i]);
    record.set_hashes(name.parent_hash, name.hash);
    std::copy(name.tokens.begin(), name.tokens.end(), record.tokens().begin());
    backend.read_block(blocks[i], record.block());
    record.seal();
    written = record.write_to(file.get());
  }
  written = written && std::fflush(file.get()) == 0;
  file.reset();
  if (written && std::rename(fresh.c_str(), path.c_str()) == 0) return static_cast<uint32_t>(blocks.size());
  Error error = cannot_write(path);
  static_cast<void>(std::remove(fresh.c_str()));
  return error;
}

uint32_t load_prefixes(const std::string& path, BlockPool& pool, Backend& backend, uint64_t fingerprint) {
  const File file(std::fopen(path.c_str(), "rbe"));
  Header header{};
  if (file == nullptr || std::fread(&header, sizeof header, 1, file.get()) != 1) return 0;
  const bool is_ours = std::memcmp(header.magic, kMagic, sizeof kMagic) == 0 && header.version == kVersion &&
                       header.block_tokens == pool.block_tokens() && header.fingerprint == fingerprint &&
                       header.block_bytes == backend.block_bytes();
  if (!is_ours) return 0;
  Record record(pool.block_tokens(), backend.block_bytes());
  // The least recently used first into the free list, so that it is also the first to go.
  std::vector<BlockId> taken;
  for (uint64_t i = 0; i < header.n_blocks && record.read_from(file.get()) && record.is_sound(); ++i) {
    const auto block = pool.allocate();
    if (!block) break;
    backend.write_block(*block, record.block());
    pool.restore_name(*block, {record.parent_hash(), record.hash(), record.tokens()});
    taken.push_back(*block);
  }
  for (size_t i = taken.size(); i-- > 0;) pool.release(taken[i]);
  return static_cast<uint32_t>(taken.size());
}

}  // namespace realizar
