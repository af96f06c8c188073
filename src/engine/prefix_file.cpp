#include "engine/prefix_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
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
constexpr uint32_t kVersion = 2;

struct Header {
  char magic[8];
  uint32_t version, block_tokens;
  uint64_t fingerprint, block_bytes, n_blocks;
  HashKey key;
};
static_assert(sizeof(Header) == 56);

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

Error cannot_write(const std::string& path, int reason) {
  return invalid_argument("cannot write " + path + ": " + std::strerror(reason), path);
}

// A new file for the owner's eyes alone; null, with errno, where it cannot be made.
File create_private(const std::string& path) {
  static_cast<void>(::unlink(path.c_str()));
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  return File(fd < 0 ? nullptr : ::fdopen(fd, "wb"));
}

// Null where there is no regular file.
File open_regular(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return nullptr;
  File file(::fdopen(fd, "rb"));
  struct stat info {};
  const bool is_regular = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  return is_regular ? std::move(file) : nullptr;
}

// A new name lasts through a power failure once its folder is on the disk.
bool sync_folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool is_synced = ::fsync(fd) == 0;
  static_cast<void>(::close(fd));
  return is_synced;
}

bool write_blocks(std::span<const BlockId> blocks, const BlockPool& pool, const Backend& backend, Record& record,
                  std::FILE* file) {
  for (const BlockId block : blocks) {
    const BlockPool::Name name = pool.name_of(block);
    record.set_hashes(name.parent_hash, name.hash);
    std::copy(name.tokens.begin(), name.tokens.end(), record.tokens().begin());
    backend.read_block(block, record.block());
    record.seal();
    if (!record.write_to(file)) return false;
  }
  return true;
}

}  // namespace

Result<uint32_t> save_prefixes(const std::string& path, const BlockPool& pool, const Backend& backend,
                               uint64_t fingerprint, uint64_t max_bytes) {
  Record record(pool.block_tokens(), backend.block_bytes());
  std::vector<BlockId> blocks = pool.named_blocks();
  if (blocks.size() > max_bytes / record.size()) blocks.resize(max_bytes / record.size());
  Header header{{}, kVersion, pool.block_tokens(), fingerprint, backend.block_bytes(), blocks.size(), pool.key()};
  std::memcpy(header.magic, kMagic, sizeof kMagic);

  const std::string fresh = path + ".new";
  File file = create_private(fresh);
  bool is_written = file != nullptr && std::fwrite(&header, sizeof header, 1, file.get()) == 1 &&
                    write_blocks(blocks, pool, backend, record, file.get()) && std::fflush(file.get()) == 0 &&
                    ::fsync(::fileno(file.get())) == 0;
  is_written = is_written && std::rename(fresh.c_str(), path.c_str()) == 0 && sync_folder_of(path);
  if (is_written) return static_cast<uint32_t>(blocks.size());
  const int reason = errno;
  static_cast<void>(::unlink(fresh.c_str()));
  return cannot_write(path, reason);
}

uint32_t load_prefixes(const std::string& path, BlockPool& pool, Backend& backend, uint64_t fingerprint) {
  const File file = open_regular(path);
  Header header{};
  if (file == nullptr || std::fread(&header, sizeof header, 1, file.get()) != 1) return 0;
  const bool is_ours = std::memcmp(header.magic, kMagic, sizeof kMagic) == 0 && header.version == kVersion &&
                       header.block_tokens == pool.block_tokens() && header.fingerprint == fingerprint &&
                       header.block_bytes == backend.block_bytes();
  if (!is_ours) return 0;
  pool.use_key(header.key);
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
