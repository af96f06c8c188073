#include "tools/model_writer.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/try.h"
#include "formats/gguf_format.h"
#include "tools/finite_rows.h"
#include "tools/gguf_stream.h"

namespace realizar {
namespace {

constexpr uint64_t kBytesAtOnce = 1 << 22;
constexpr size_t kMostParts = 65535;  // split.count has 16 bits

// GGUF's numbers of the value types of split files' keys.
constexpr uint32_t kGgufUint16 = 2, kGgufInt32 = 5;

template <class T>
void add_number(GgufWriter& writer, std::string_view key, uint32_t type, T value) {
  std::array<std::byte, sizeof type + sizeof value> stored;
  std::memcpy(stored.data(), &type, sizeof type);
  std::memcpy(stored.data() + sizeof type, &value, sizeof value);
  writer.add_stored(key, stored);
}

// The tensors of each part.
std::vector<std::span<const OutTensor>> parts_of(std::span<const OutTensor> tensors, uint64_t most_bytes) {
  std::vector<std::span<const OutTensor>> parts;
  size_t first = 0;
  uint64_t n_bytes = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (most_bytes > 0 && i > first && n_bytes + tensors[i].n_bytes() > most_bytes) {
      parts.push_back(tensors.subspan(first, i - first));
      first = i;
      n_bytes = 0;
    }
    n_bytes += tensors[i].n_bytes();
  }
  parts.push_back(tensors.subspan(first));
  return parts;
}

// The id of a set is the header's first entry, so that it can be overwritten once it is known: the magic number, the
// version and two counts come before the entry; its key, its type and its length before the text.
constexpr size_t kSetIdDigits = 16;
constexpr size_t kSetIdAt = 4 + 4 + 8 + 8 + (8 + kGgufSetKey.size()) + 4 + 8;

class SetId {
 public:
  SetId() : state_(XXH3_createState()) { REQUIRE(state_ != nullptr && XXH3_64bits_reset(state_.get()) == XXH_OK); }

  static void make_room(GgufWriter& header) { header.add_string(kGgufSetKey, std::string(kSetIdDigits, '0')); }
  void add(std::span<const std::byte> bytes) { XXH3_64bits_update(state_.get(), bytes.data(), bytes.size()); }
  Status write_to(GgufStream& part) const {
    const std::string id = fmt::format("{:0{}x}", XXH3_64bits_digest(state_.get()), kSetIdDigits);
    return part.rewrite(kSetIdAt, std::as_bytes(std::span(id)));
  }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_;
};

// Gives all parts their names. If the process is killed, the set lacks its first part and is unusable.
Status commit_parts(std::span<GgufStream> parts, std::span<const std::filesystem::path> paths) {
  for (GgufStream& part : parts) RZ_CHECK_OK(part.sync());
  if (parts.size() > 1) RZ_CHECK_OK(parts.front().remove_old());
  for (size_t i = parts.size(); i-- > 0;) {
    const Status committed = parts[i].commit();
    if (committed.ok()) continue;
    std::error_code ignored;
    for (size_t taken = i + 1; taken < parts.size(); ++taken) std::filesystem::remove(paths[taken], ignored);
    return committed;
  }
  return {};
}

}  // namespace

std::filesystem::path part_path(const std::filesystem::path& path, size_t part, size_t n_parts) {
  if (n_parts == 1) return path;
  std::filesystem::path stem = path;
  stem.replace_extension();
  return stem.string() + fmt::format("-{:05}-of-{:05}.gguf", part + 1, n_parts);
}

Status TensorPump::write(const OutTensor& tensor, const std::function<Status(std::span<const std::byte>)>& write) {
  const size_t row_size = tensor.rows->row_size();
  const uint64_t n_at_once = std::max<uint64_t>(kBytesAtOnce / std::max<size_t>(row_size, 1), 1);
  for (uint64_t row = 0, n = tensor.rows->n_rows(); row < n; row += n_at_once) {
    if (run_.stop != nullptr && run_.stop->load()) return Error{ErrorCode::kCancelled, "converting was cancelled", ""};
    const uint64_t n_read = std::min(n_at_once, n - row);
    piece_.resize(n_read * row_size);
    RZ_CHECK_OK(tensor.rows->read(row, n_read, piece_.data()));
    RZ_CHECK_OK(check_finite(tensor.name, *tensor.rows, row, piece_));
    RZ_CHECK_OK(write(piece_));
    n_done_ += piece_.size();
    if (run_.progress) run_.progress(n_done_, n_all_);
  }
  tensor.rows->release();
  return run_.check ? run_.check() : Status();
}

std::vector<std::filesystem::path> gguf_paths(const std::filesystem::path& path, const std::vector<OutTensor>& tensors,
                                              uint64_t most_bytes) {
  const size_t n_parts = parts_of(tensors, most_bytes).size();
  std::vector<std::filesystem::path> paths;
  for (size_t i = 0; i < n_parts; ++i) paths.push_back(part_path(path, i, n_parts));
  return paths;
}

Result<std::vector<std::filesystem::path>> write_gguf(const std::filesystem::path& path,
                                                      const std::vector<OutTensor>& tensors,
                                                      const AddMetadata& add_metadata, uint64_t most_bytes,
                                                      const WriteRun& run) {
  const auto parts = parts_of(tensors, most_bytes);
  if (parts.size() > kMostParts) {
    return invalid_argument(fmt::format("a split into {} files: at most {} are possible", parts.size(), kMostParts));
  }
  uint64_t n_all = 0;
  for (const OutTensor& tensor : tensors) n_all += tensor.n_bytes();
  TensorPump pump(run, n_all);
  SetId set;
  std::vector<GgufStream> streams;
  auto paths = gguf_paths(path, tensors, most_bytes);
  for (size_t i = 0; i < parts.size(); ++i) {
    GgufWriter header;
    if (parts.size() > 1) SetId::make_room(header);
    if (i == 0) add_metadata(header);
    if (parts.size() > 1) {
      add_number(header, "split.no", kGgufUint16, static_cast<uint16_t>(i));
      add_number(header, "split.tensors.count", kGgufInt32, static_cast<int32_t>(tensors.size()));
      add_number(header, "split.count", kGgufUint16, static_cast<uint16_t>(parts.size()));
    }
    for (const OutTensor& tensor : parts[i]) header.announce_tensor(tensor.name, tensor.rows->type(), tensor.shape);
    set.add(header.header());
    RZ_TRY(GgufStream stream, GgufStream::create(paths[i], header));
    for (const OutTensor& tensor : parts[i]) {
      RZ_CHECK_OK(pump.write(tensor, [&](std::span<const std::byte> bytes) {
        set.add(bytes);
        return stream.write(bytes);
      }));
    }
    streams.push_back(std::move(stream));
  }
  for (GgufStream& stream : streams) {
    if (streams.size() > 1) RZ_CHECK_OK(set.write_to(stream));
  }
  RZ_CHECK_OK(commit_parts(streams, paths));
  return paths;
}

}  // namespace realizar
