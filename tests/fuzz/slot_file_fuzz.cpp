// Any bytes as a file of --slot-save-path: they are refused, or what is read of them is as large as their head says.
// Where the first byte is odd, the sum at the end is made right first.
#include <unistd.h>
#include <xxhash.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "engine/slot_file.h"

namespace {

using namespace realizar;

constexpr engine::PrefixShape kShape{
    .fingerprint = 1, .block_tokens = 4, .n_groups = 2, .max_tokens = 64, .block_bytes = 8, .state_bytes = 4};
constexpr size_t kSumBytes = 8;

struct File {
  File() {
    const std::filesystem::path memory = "/dev/shm";
    const auto folder = std::filesystem::exists(memory) ? memory : std::filesystem::temp_directory_path();
    path = folder / ("slot_file_fuzz." + std::to_string(::getpid()));
  }
  ~File() { std::filesystem::remove(path); }
  std::filesystem::path path;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const File file;
  if (size == 0) return 0;
  std::string bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  if (data[0] % 2 == 1 && bytes.size() >= kSumBytes) {
    const uint64_t sum = XXH3_64bits(bytes.data(), bytes.size() - kSumBytes);
    std::memcpy(bytes.data() + bytes.size() - kSumBytes, &sum, kSumBytes);
  }
  std::ofstream(file.path, std::ios::binary | std::ios::trunc) << bytes;
  auto reader = engine::SlotFileReader::open(file.path, kShape);
  if (!reader.ok()) return 0;
  const engine::PrefixLayout& layout = reader->layout();
  const bool fits = layout.n_tokens <= kShape.max_tokens && reader->tokens().size() == layout.n_tokens &&
                    layout.first_blocks.size() == kShape.n_groups;
  if (!fits) std::abort();
  std::vector<std::byte> pieces(layout.n_bytes(kShape));
  if (!reader->read(pieces).ok()) std::abort();
  const bool is_right = reader->check_sum().ok();
  if (!is_right && data[0] % 2 == 1) std::abort();
  return 0;
}
