#include "tools/imatrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/mapped_file.h"
#include "base/printable.h"
#include "base/try.h"
#include "formats/byte_cursor.h"
#include "formats/gguf_format.h"
#include "formats/gguf_reader.h"
#include "formats/gguf_writer.h"

namespace realizar {
namespace {

constexpr std::string_view kSums = ".in_sum2", kCounts = ".counts";
// llama.cpp stores a tensor's name in 64 bytes including a terminating zero, and one of two suffixes follows ours.
constexpr size_t kMostNameBytes = kGgufMaxTensorNameBytes - 1 - kSums.size();
constexpr std::string_view kDatasetsKey = "imatrix.datasets", kChunksKey = "imatrix.chunk_count",
                           kChunkSizeKey = "imatrix.chunk_size";

Error imatrix_error(std::string_view file, std::string_view entry, std::string_view problem) {
  return format_error(fmt::format("{}: importance of '{}': {}", file, printable(entry), problem), std::string(entry));
}

Result<std::vector<float>> floats_of(const TensorInfo& tensor, std::string_view file) {
  if (tensor.type != TypeId::kF32) {
    return imatrix_error(file, tensor.name, fmt::format("expected F32, actual {}", traits(tensor.type).name));
  }
  std::vector<float> values(tensor.data.size() / sizeof(float));
  std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value) && value >= 0; })) {
    return imatrix_error(file, tensor.name, "a value that is negative or not a number");
  }
  return values;
}

Status check_entry(const ImatrixEntry& entry, std::string_view name, std::string_view file) {
  if (entry.counts.empty()) return imatrix_error(file, name, "sums without counts");
  if (entry.sums.empty()) return imatrix_error(file, name, "counts without sums");
  if (entry.sums.size() % entry.counts.size() == 0) return {};
  return imatrix_error(
      file, name, fmt::format("{} sums, which is not a multiple of {} counts", entry.sums.size(), entry.counts.size()));
}

// The part of a tensor's name before the suffix; empty if it does not have the suffix.
std::string_view without_ending(std::string_view name, std::string_view ending) {
  return name.ends_with(ending) ? name.substr(0, name.size() - ending.size()) : std::string_view();
}

Result<Imatrix> from_gguf(const GgufFile& gguf, std::string_view file) {
  Imatrix imatrix;
  for (const TensorInfo& tensor : gguf.tensors) {
    const std::string_view of_sums = without_ending(tensor.name, kSums),
                           of_counts = without_ending(tensor.name, kCounts);
    if (of_sums.empty() && of_counts.empty()) continue;
    RZ_TRY(std::vector<float> values, floats_of(tensor, file));
    ImatrixEntry& entry = imatrix.entries[std::string(of_sums.empty() ? of_counts : of_sums)];
    (of_sums.empty() ? entry.counts : entry.sums) = std::move(values);
  }
  if (imatrix.entries.empty()) {
    return format_error(
        fmt::format("{}: expected an importance matrix, actual a GGUF file without tensors NAME{}", file, kSums),
        std::string(file));
  }
  for (const auto& [name, entry] : imatrix.entries) RZ_CHECK_OK(check_entry(entry, name, file));
  RZ_TRY(const auto datasets, gguf.metadata.get_strings(kDatasetsKey));
  if (datasets) imatrix.datasets.assign(datasets->begin(), datasets->end());
  RZ_TRY(const auto n_chunks, gguf.metadata.get_int(kChunksKey));
  RZ_TRY(const auto chunk_size, gguf.metadata.get_int(kChunkSizeKey));
  imatrix.n_chunks = static_cast<uint64_t>(std::max<int64_t>(n_chunks.value_or(0), 0));
  imatrix.chunk_size = static_cast<uint32_t>(std::clamp<int64_t>(chunk_size.value_or(0), 0, UINT32_MAX));
  return imatrix;
}

// The format that llama-imatrix wrote before GGUF: the number of entries; for each a name, how often it was added to,
// and means multiplied by that; then the number of chunks and the text's name.
Result<Imatrix> from_dat(std::span<const std::byte> bytes, std::string_view file) {
  ByteCursor in(bytes, file);
  RZ_TRY(const auto n_entries, in.read<int32_t>("number of entries"));
  constexpr int32_t kMaxEntries = 1 << 20;
  constexpr uint64_t kMaxName = 256;
  if (n_entries < 1 || n_entries > kMaxEntries) {
    return format_error(fmt::format("{}: expected an importance matrix (GGUF, or llama-imatrix's older .dat)", file),
                        std::string(file));
  }
  Imatrix imatrix;
  for (int32_t i = 0; i < n_entries; ++i) {
    RZ_TRY(const auto name_bytes, in.read<int32_t>("length of a name"));
    if (name_bytes < 1 || static_cast<uint64_t>(name_bytes) > kMaxName) {
      return field_error(file, "length of a name", in.offset() - 4, "1 to 256", std::to_string(name_bytes));
    }
    RZ_TRY(const auto name, in.take(static_cast<uint64_t>(name_bytes), 1, "name"));
    RZ_TRY(const auto n_calls, in.read<int32_t>("number of calls"));
    RZ_TRY(const auto n_values, in.read<int32_t>("number of values"));
    if (n_calls < 0 || n_values < 1) {
      return field_error(file, "number of values", in.offset() - 4, "1 or more", std::to_string(n_values));
    }
    RZ_TRY(const auto raw, in.take(static_cast<uint64_t>(n_values), sizeof(float), "values"));
    ImatrixEntry entry;
    entry.sums.resize(static_cast<size_t>(n_values));
    std::memcpy(entry.sums.data(), raw.data(), raw.size());
    entry.counts = {static_cast<float>(n_calls)};
    if (!std::ranges::all_of(entry.sums, [](float value) { return std::isfinite(value) && value >= 0; })) {
      return imatrix_error(file, std::string_view(reinterpret_cast<const char*>(name.data()), name.size()),
                           "a value that is negative or not a number");
    }
    imatrix.entries.insert_or_assign(std::string(reinterpret_cast<const char*>(name.data()), name.size()),
                                     std::move(entry));
  }
  if (in.remaining() < sizeof(int32_t)) return imatrix;  // the oldest files end here
  RZ_TRY(const auto n_chunks, in.read<int32_t>("number of chunks"));
  imatrix.n_chunks = static_cast<uint64_t>(std::max(n_chunks, 0));
  return imatrix;
}

}  // namespace

Result<Imatrix> Imatrix::parse(std::span<const std::byte> bytes, std::string_view name) {
  const bool is_gguf =
      bytes.size() >= kGgufMagic.size() && std::memcmp(bytes.data(), kGgufMagic.data(), kGgufMagic.size()) == 0;
  if (!is_gguf) return from_dat(bytes, name);
  RZ_TRY(const GgufFile gguf, parse_gguf(bytes, name));
  return from_gguf(gguf, name);
}

Result<Imatrix> Imatrix::read(const std::filesystem::path& path) {
  RZ_TRY(const MappedFile map, MappedFile::open(path));
  return map.checked(parse(map.bytes(), map.path()));
}

Status Imatrix::write(const std::filesystem::path& path) const {
  GgufWriter writer;
  writer.add_string("general.type", "imatrix");
  writer.add_strings(kDatasetsKey, datasets);
  writer.add_u32(kChunksKey, static_cast<uint32_t>(std::min<uint64_t>(n_chunks, UINT32_MAX)));
  writer.add_u32(kChunkSizeKey, chunk_size);
  for (const auto& [name, entry] : entries) {
    if (name.size() > kMostNameBytes) {
      return invalid_argument(
          fmt::format("{}: importance of '{}': expected a name of at most {} bytes, since GGUF has "
                      "room for {} and this format adds '{}'; actual {}",
                      path.string(), printable(name), kMostNameBytes, kGgufMaxTensorNameBytes - 1, kSums, name.size()),
          name);
    }
    writer.add_tensor(name + std::string(kSums), TypeId::kF32, {entry.counts.size(), entry.n_cols()}, entry.sums);
    writer.add_tensor(name + std::string(kCounts), TypeId::kF32, {entry.counts.size(), 1}, entry.counts);
  }
  return writer.write(path);
}

Status Imatrix::add(const Imatrix& other) {
  if (chunk_size != 0 && other.chunk_size != 0 && chunk_size != other.chunk_size) {
    return invalid_argument(fmt::format("importance of chunks of {} tokens cannot be added to that of chunks of {}",
                                        other.chunk_size, chunk_size));
  }
  for (const auto& [name, entry] : other.entries) {
    ImatrixEntry& own = entries[name];
    if (own.counts.empty()) {
      own = entry;
      continue;
    }
    if (own.sums.size() != entry.sums.size() || own.counts.size() != entry.counts.size()) {
      return invalid_argument(
          fmt::format("importance of '{}': expected {} columns of {} matrices, actual {} of {}", printable(name),
                      own.n_cols(), own.counts.size(), entry.n_cols(), entry.counts.size()),
          name);
    }
    std::ranges::transform(own.sums, entry.sums, own.sums.begin(), std::plus<>());
    std::ranges::transform(own.counts, entry.counts, own.counts.begin(), std::plus<>());
  }
  for (const std::string& dataset : other.datasets) {
    if (std::ranges::find(datasets, dataset) == datasets.end()) datasets.push_back(dataset);
  }
  n_chunks += other.n_chunks;
  if (chunk_size == 0) chunk_size = other.chunk_size;
  return {};
}

Result<std::vector<float>> Imatrix::weights(std::string_view tensor_name, uint64_t n_mats, uint64_t n_cols) const {
  const auto found = entries.find(tensor_name);
  if (found == entries.end()) return std::vector<float>();
  const ImatrixEntry& entry = found->second;
  // An older file has one count for all matrices of a stack.
  const bool has_one_count = entry.counts.size() == 1;
  if (entry.sums.size() != n_mats * n_cols || (!has_one_count && entry.counts.size() != n_mats)) {
    return format_error(fmt::format("importance of '{}': expected {} columns of {} matrices, actual {} of {}; it is "
                                    "another model's",
                                    printable(tensor_name), n_cols, n_mats, entry.n_cols(), entry.counts.size()),
                        std::string(tensor_name));
  }
  std::vector<float> means(entry.sums.size());
  std::vector<double> all(n_cols);
  uint64_t n_seen = 0;
  for (uint64_t m = 0; m < n_mats; ++m) {
    const float count = entry.counts[has_one_count ? 0 : m];
    if (!(count > 0)) continue;
    ++n_seen;
    for (uint64_t i = 0; i < n_cols; ++i) {
      means[m * n_cols + i] = entry.sums[m * n_cols + i] / count;
      all[i] += means[m * n_cols + i];
    }
  }
  for (uint64_t m = 0; m < n_mats; ++m) {
    if (entry.counts[has_one_count ? 0 : m] > 0) continue;
    for (uint64_t i = 0; i < n_cols; ++i) {
      means[m * n_cols + i] = n_seen > 0 ? static_cast<float>(all[i] / static_cast<double>(n_seen)) : 1;
    }
  }
  return means;
}

}  // namespace realizar
