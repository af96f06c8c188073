// Any bytes as a file of --cache-dir: accepted blocks can be found again, nothing else is held or named, and a file
// written from them gives the same. As a file of --slot-save-path they are refused, or can be loaded and saved. If the
// first byte is odd, all checksums are corrected first, so that the code after them is reached too.
#include <unistd.h>
#include <xxhash.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "engine/prefix_file.h"
#include "support/hash_backend.h"

namespace {

using namespace realizar;

constexpr uint32_t kBlocks = 6, kBlockTokens = 4;
constexpr size_t kHeadBytes = 80, kCountAt = 56, kRecordBytes = 96, kSumBytes = 8;

// In memory, if the machine has a folder for that.
struct Files {
  Files() {
    const std::filesystem::path memory = "/dev/shm";
    const auto folder = std::filesystem::exists(memory) ? memory : std::filesystem::temp_directory_path();
    given = folder / ("prefix_file_fuzz." + std::to_string(::getpid()));
    written = given.string() + ".written";
  }
  ~Files() {
    std::filesystem::remove(given);
    std::filesystem::remove(written);
  }
  std::filesystem::path given, written;
};

struct Cache {
  explicit Cache(const kv::HashKey& key) : pool(kBlocks, kBlockTokens, key) {
    CacheLayout layout;
    layout.block_tokens = kBlockTokens;
    layout.n_blocks = kBlocks;
    if (!backend.create_kv_cache(layout).ok()) std::abort();
  }
  uint32_t load(const std::filesystem::path& path) {
    const uint32_t n = engine::load_prefixes(path, pool, backend, shape());
    const bool is_sound = pool.is_consistent() && pool.n_free() == kBlocks && pool.name_counts().n_named == n;
    if (!is_sound) std::abort();
    return n;
  }
  engine::PrefixShape shape() const {
    return {.fingerprint = 1,
            .block_tokens = kBlockTokens,
            .n_groups = 1,
            .max_tokens = 64,
            .block_bytes = backend.block_bytes(),
            .state_bytes = 0};
  }
  testing::HashBackend backend;
  kv::BlockPool pool;
};

bool are_same(const kv::BlockPool::Name& a, const kv::BlockPool::Name& b) {
  return a.hash == b.hash && a.parent_hash == b.parent_hash && a.owner == b.owner &&
         std::equal(a.tokens.begin(), a.tokens.end(), b.tokens.begin(), b.tokens.end());
}

void make_sums_right(std::string& bytes) {
  uint64_t n_tokens = 0;
  if (bytes.size() < kHeadBytes + kSumBytes) return;
  std::memcpy(&n_tokens, bytes.data() + kCountAt, sizeof n_tokens);
  if (n_tokens > (bytes.size() - kHeadBytes - kSumBytes) / sizeof(TokenId)) return;
  const size_t text_bytes = n_tokens * sizeof(TokenId);
  const uint64_t head_sum =
      XXH3_64bits_withSeed(bytes.data() + kHeadBytes, text_bytes, XXH3_64bits(bytes.data(), kHeadBytes));
  std::memcpy(bytes.data() + kHeadBytes + text_bytes, &head_sum, kSumBytes);
  for (size_t at = kHeadBytes + text_bytes + kSumBytes; at + kRecordBytes <= bytes.size(); at += kRecordBytes) {
    const uint64_t sum = XXH3_64bits(bytes.data() + at, kRecordBytes - kSumBytes);
    std::memcpy(bytes.data() + at + kRecordBytes - kSumBytes, &sum, sizeof sum);
  }
}

bool add_records(engine::PrefixFileReader& file, engine::NewPrefix& prefix) {
  while (file.has_more()) {
    if (!file.read().ok()) return false;
    if (!prefix.add_block(file.name().group, file.name().n_short_tokens, file.bytes())) return false;
  }
  return true;
}

void restore_slot(const std::filesystem::path& path) {
  Cache cache({1, 2});
  auto file = engine::PrefixFileReader::open(path, cache.shape());
  if (!file.ok() || !file->check_is_of_text().ok()) return;
  {
    engine::NewPrefix prefix(cache.pool, cache.backend, file->text());
    if (add_records(*file, prefix)) prefix.name(7, 7);
  }
  const auto n_found = engine::HeldPrefix(cache.pool, cache.backend, file->text(), 7).tokens().size();
  const bool is_sound = cache.pool.is_consistent() && cache.pool.n_free() == kBlocks && n_found <= file->text().size();
  if (!is_sound) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Files files;
  if (size == 0) return 0;
  std::string bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  if (data[0] % 2 == 1) make_sums_right(bytes);
  std::ofstream(files.given, std::ios::binary | std::ios::trunc) << bytes;
  Cache first({1, 2}), second({3, 4});
  const uint32_t n = first.load(files.given);
  const auto n_written =
      engine::save_prefixes(files.written, first.pool, nullptr, first.backend, first.shape(), UINT64_MAX);
  if (!n_written.ok() || *n_written != n || second.load(files.written) != n) std::abort();
  const std::vector<BlockId> blocks = first.pool.named_blocks(), again = second.pool.named_blocks();
  std::vector<std::byte> block(first.backend.block_bytes()), other(block.size());
  for (uint32_t i = 0; i < n; ++i) {
    if (!are_same(first.pool.name_of(blocks[i]), second.pool.name_of(again[i]))) std::abort();
    first.backend.read_block(blocks[i], block);
    second.backend.read_block(again[i], other);
    if (block != other) std::abort();
  }
  restore_slot(files.given);
  return 0;
}
