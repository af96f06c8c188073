#include "formats/gguf_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <utility>

#include "base/printable.h"
#include "base/try.h"
#include "formats/byte_cursor.h"
#include "formats/gguf_format.h"
#include "formats/layout.h"

namespace realizar {
namespace {

// The minimum size of an entry, which limits a plausible count before anything is reserved.
constexpr uint64_t kMinKeyValueBytes = 8 + 1 + 4 + 1;            // key length, key, value type, value
constexpr uint64_t kMinTensorInfoBytes = 8 + 1 + 4 + 8 + 4 + 8;  // name length, name, n_dims, a dim, type, offset

struct Header {
  uint64_t n_tensors;
  uint64_t n_key_values;
};

Status check_version(uint32_t version, std::string_view file) {
  if (version >= kGgufVersionMin && version <= kGgufVersionMax) return {};
  if (version == 0) return field_error(file, "version", 4, "2 or 3", "0");
  if ((version & 0xffffu) == 0) {
    return unsupported(fmt::format("{}: version at byte 4: expected little-endian 2 or 3, actual {:#010x}: a "
                                   "big-endian GGUF file. Take the little-endian file of the same model, or turn this "
                                   "one round with the Python package gguf: gguf-convert-endian FILE little",
                                   file, version),
                       std::string(file));
  }
  const char* const advice = version < kGgufVersionMin
                                 ? "a file of GGUF's first weeks. Take a newer file of the same model, or convert the "
                                   "original with llama.cpp's convert_hf_to_gguf.py"
                                 : "a file that is newer than this program. Take a newer realizar";
  return unsupported(fmt::format("{}: version at byte 4: expected {} or {}, actual {}: {}", file, kGgufVersionMin,
                                 kGgufVersionMax, version, advice),
                     std::string(file));
}

Result<uint64_t> read_count(ByteCursor& in, std::string_view field, uint64_t min_entry_bytes) {
  const uint64_t at = in.offset();
  RZ_TRY(const auto count, in.read<uint64_t>(field));
  RZ_CHECK_OK(in.need(count, min_entry_bytes, field, at));
  return count;
}

Result<Header> read_header(ByteCursor& in) {
  RZ_TRY(const auto raw, in.take(kGgufMagic.size(), 1, "magic"));
  const std::string_view magic(reinterpret_cast<const char*>(raw.data()), raw.size());
  if (magic != kGgufMagic) {
    return field_error(
        in.file(), "magic", 0, "'GGUF'",
        fmt::format("bytes {:02x}",
                    fmt::join(std::span(reinterpret_cast<const uint8_t*>(raw.data()), raw.size()), " ")));
  }
  RZ_TRY(const auto version, in.read<uint32_t>("version"));
  RZ_CHECK_OK(check_version(version, in.file()));
  RZ_TRY(const auto n_tensors, read_count(in, "tensor_count", kMinTensorInfoBytes));
  RZ_TRY(const auto n_key_values, read_count(in, "metadata_kv_count", kMinKeyValueBytes));
  return Header{n_tensors, n_key_values};
}

Result<bool> read_bool(ByteCursor& in, std::string_view field) {
  const uint64_t at = in.offset();
  RZ_TRY(const auto value, in.read<uint8_t>(field));
  if (value > 1) return field_error(in.file(), field, at, "a bool, 0 or 1", std::to_string(value));
  return value == 1;
}

template <class Stored, class Wide>
Result<MetaArray> read_numbers(ByteCursor& in, uint64_t n, std::string_view field) {
  RZ_TRY(const auto raw, in.take(n, sizeof(Stored), field));
  std::vector<Wide> values(n);
  for (uint64_t i = 0; i < n; ++i) {
    Stored value;
    std::memcpy(&value, raw.data() + i * sizeof(Stored), sizeof(Stored));
    // NOLINTNEXTLINE(bugprone-signed-char-misuse): an int8 is a number here, not a character.
    values[i] = static_cast<Wide>(value);
  }
  return MetaArray(std::move(values));
}

Result<MetaArray> read_bools(ByteCursor& in, uint64_t n, std::string_view field) {
  std::vector<bool> values;
  for (uint64_t i = 0; i < n; ++i) {
    RZ_TRY(const bool value, read_bool(in, field));
    values.push_back(value);
  }
  return MetaArray(std::move(values));
}

Result<MetaArray> read_strings(ByteCursor& in, uint64_t n, std::string_view field) {
  constexpr uint64_t kMinStringBytes = 8;
  RZ_CHECK_OK(in.need(n, kMinStringBytes, field, in.offset()));
  std::vector<std::string_view> values;
  values.reserve(n);
  for (uint64_t i = 0; i < n; ++i) {
    RZ_TRY(const auto value, in.read_string(field));
    values.push_back(value);
  }
  return MetaArray(std::move(values));
}

Result<MetaArray> read_array(ByteCursor& in, std::string_view field) {
  const uint64_t type_at = in.offset();
  RZ_TRY(const auto type, in.read<uint32_t>(field));
  RZ_TRY(const auto n, in.read<uint64_t>(field));
  switch (static_cast<GgufValueType>(type)) {
    case GgufValueType::kUint8:
      return read_numbers<uint8_t, uint64_t>(in, n, field);
    case GgufValueType::kInt8:
      return read_numbers<int8_t, int64_t>(in, n, field);
    case GgufValueType::kUint16:
      return read_numbers<uint16_t, uint64_t>(in, n, field);
    case GgufValueType::kInt16:
      return read_numbers<int16_t, int64_t>(in, n, field);
    case GgufValueType::kUint32:
      return read_numbers<uint32_t, uint64_t>(in, n, field);
    case GgufValueType::kInt32:
      return read_numbers<int32_t, int64_t>(in, n, field);
    case GgufValueType::kFloat32:
      return read_numbers<float, double>(in, n, field);
    case GgufValueType::kBool:
      return read_bools(in, n, field);
    case GgufValueType::kString:
      return read_strings(in, n, field);
    case GgufValueType::kArray:
      return unsupported(
          fmt::format("{}: {} at byte {}: an array of arrays, which is not supported", in.file(), field, type_at),
          std::string(in.file()));
    case GgufValueType::kUint64:
      return read_numbers<uint64_t, uint64_t>(in, n, field);
    case GgufValueType::kInt64:
      return read_numbers<int64_t, int64_t>(in, n, field);
    case GgufValueType::kFloat64:
      return read_numbers<double, double>(in, n, field);
  }
  return field_error(in.file(), field, type_at, "an element type of 0 to 12", std::to_string(type));
}

template <class Stored, class Wide>
Result<MetaValue> read_number(ByteCursor& in, std::string_view field) {
  RZ_TRY(const auto value, in.read<Stored>(field));
  return MetaValue(static_cast<Wide>(value));
}

Result<MetaValue> read_value(ByteCursor& in, std::string_view field) {
  const uint64_t type_at = in.offset();
  RZ_TRY(const auto type, in.read<uint32_t>(field));
  switch (static_cast<GgufValueType>(type)) {
    case GgufValueType::kUint8:
      return read_number<uint8_t, uint64_t>(in, field);
    case GgufValueType::kInt8:
      return read_number<int8_t, int64_t>(in, field);
    case GgufValueType::kUint16:
      return read_number<uint16_t, uint64_t>(in, field);
    case GgufValueType::kInt16:
      return read_number<int16_t, int64_t>(in, field);
    case GgufValueType::kUint32:
      return read_number<uint32_t, uint64_t>(in, field);
    case GgufValueType::kInt32:
      return read_number<int32_t, int64_t>(in, field);
    case GgufValueType::kFloat32:
      return read_number<float, double>(in, field);
    case GgufValueType::kBool: {
      RZ_TRY(const bool value, read_bool(in, field));
      return MetaValue(value);
    }
    case GgufValueType::kString: {
      RZ_TRY(const auto value, in.read_string(field));
      return MetaValue(std::string(value));
    }
    case GgufValueType::kArray: {
      RZ_TRY(auto value, read_array(in, field));
      return MetaValue(std::move(value));
    }
    case GgufValueType::kUint64:
      return read_number<uint64_t, uint64_t>(in, field);
    case GgufValueType::kInt64:
      return read_number<int64_t, int64_t>(in, field);
    case GgufValueType::kFloat64:
      return read_number<double, double>(in, field);
  }
  return field_error(in.file(), field, type_at, "a value type of 0 to 12", std::to_string(type));
}

// A name is shown in messages, so it must be short, and is never empty.
Result<std::string_view> read_name(ByteCursor& in, const std::string& field, uint64_t max_bytes) {
  const uint64_t at = in.offset();
  RZ_TRY(const auto name, in.read_string(field));
  if (name.empty() || name.size() > max_bytes) {
    return field_error(in.file(), field, at, fmt::format("1 to {} bytes", max_bytes), std::to_string(name.size()));
  }
  return name;
}

Status read_metadata(ByteCursor& in, uint64_t n_key_values, std::span<const std::byte> bytes, GgufFile& file) {
  for (uint64_t i = 0; i < n_key_values; ++i) {
    const uint64_t at = in.offset();
    RZ_TRY(const auto key, read_name(in, fmt::format("key of metadata entry {}", i), kGgufMaxKeyBytes));
    const std::string field = fmt::format("metadata '{}'", printable(key));
    if (file.metadata.contains(key)) return field_error(in.file(), field, at, "each key once", "a second entry");
    const uint64_t value_at = in.offset();
    auto value = read_value(in, field);
    if (!value.ok()) return value.error();
    file.metadata.set(std::string(key), std::move(*value));
    file.entries.push_back({key, bytes.subspan(value_at, in.offset() - value_at)});
  }
  return {};
}

Result<uint64_t> read_alignment(const Metadata& metadata, std::string_view file) {
  RZ_TRY(const auto given, metadata.get_int(kGgufAlignmentKey));
  const int64_t alignment = given.value_or(kGgufDefaultAlignment);
  if (alignment <= 0 || !std::has_single_bit(static_cast<uint64_t>(alignment))) {
    return format_error(
        fmt::format("{}: metadata '{}': expected a power of two, actual {}", file, kGgufAlignmentKey, alignment),
        std::string(kGgufAlignmentKey));
  }
  return static_cast<uint64_t>(alignment);
}

struct TensorEntry {
  TensorInfo info;  // data not yet set
  uint64_t n_bytes;
  uint64_t offset;     // from the start of the data section
  uint64_t offset_at;  // position of `offset` in the file
};

Result<std::vector<uint64_t>> read_shape(ByteCursor& in, std::string_view field) {
  const uint64_t at = in.offset();
  RZ_TRY(const auto n_dims, in.read<uint32_t>(field));
  if (n_dims < 1 || n_dims > kGgufMaxDims) {
    return field_error(in.file(), fmt::format("n_dims of {}", field), at, fmt::format("1 to {}", kGgufMaxDims),
                       std::to_string(n_dims));
  }
  std::vector<uint64_t> shape(n_dims);
  for (size_t i = n_dims; i-- > 0;) {  // the file stores the innermost dimension first
    RZ_TRY(shape[i], in.read<uint64_t>(field));
  }
  return shape;
}

Result<TensorEntry> read_tensor_entry(ByteCursor& in, uint64_t i) {
  RZ_TRY(const auto name, read_name(in, fmt::format("name of tensor {}", i), kGgufMaxTensorNameBytes));
  const std::string field = fmt::format("tensor '{}'", printable(name));
  const uint64_t shape_at = in.offset();
  RZ_TRY(auto shape, read_shape(in, field));
  const uint64_t type_at = in.offset();
  RZ_TRY(const auto type_number, in.read<uint32_t>(field));
  const std::optional<TypeId> type = type_from_number(type_number);
  if (!type) {
    return unsupported(fmt::format("{}: {}: type at byte {}: {} is not supported", in.file(), field, type_at,
                                   type_name_for_message(type_number)),
                       std::string(name));
  }
  const auto n_bytes = tensor_bytes(traits(*type), shape);
  if (!n_bytes.ok()) {
    return format_error(
        fmt::format("{}: shape of {} at byte {}: {}", in.file(), field, shape_at, n_bytes.error().message),
        std::string(name));
  }
  const uint64_t offset_at = in.offset();
  RZ_TRY(const auto offset, in.read<uint64_t>(field));
  return TensorEntry{{std::string(name), *type, std::move(shape), {}}, *n_bytes, offset, offset_at};
}

Result<TensorInfo> place_tensor(TensorEntry entry, std::span<const std::byte> data_section, uint64_t alignment,
                                std::string_view file) {
  const std::string field = fmt::format("offset of tensor '{}'", printable(entry.info.name));
  if (entry.offset % alignment != 0) {
    return field_error(file, field, entry.offset_at, fmt::format("a multiple of {}", alignment),
                       std::to_string(entry.offset));
  }
  if (entry.offset > data_section.size() || entry.n_bytes > data_section.size() - entry.offset) {
    return field_error(
        file, field, entry.offset_at,
        fmt::format("{} bytes of {} {} within the {} bytes of data", entry.n_bytes, traits(entry.info.type).name,
                    shape_to_string(entry.info.shape), data_section.size()),
        fmt::format("offset {}", entry.offset));
  }
  entry.info.data = data_section.subspan(entry.offset, entry.n_bytes);
  return std::move(entry.info);
}

// The length of the complete file, if its tensors follow each other as a writer puts them but the file ends before the
// last tensor does. Otherwise an offset or a shape is wrong, and place_tensor reports which. A file without tensors (a
// vocabulary) may end before the padding.
std::optional<uint64_t> bytes_of_whole_file(std::span<const TensorEntry> entries, uint64_t data_at,
                                            uint64_t alignment) {
  if (entries.empty()) return std::nullopt;
  uint64_t end = 0;
  for (const TensorEntry& entry : entries) {
    const uint64_t begin = (end + alignment - 1) / alignment * alignment;
    if (entry.offset != begin || entry.n_bytes > std::numeric_limits<uint64_t>::max() / 4 - begin) return std::nullopt;
    end = begin + entry.n_bytes;
  }
  return data_at + end;
}

}  // namespace

Result<GgufFile> parse_gguf(std::span<const std::byte> bytes, std::string_view file) {
  ByteCursor in(bytes, file);
  RZ_TRY(const Header header, read_header(in));
  GgufFile result;
  RZ_CHECK_OK(read_metadata(in, header.n_key_values, bytes, result));
  RZ_TRY(const uint64_t alignment, read_alignment(result.metadata, file));

  std::vector<TensorEntry> entries;
  for (uint64_t i = 0; i < header.n_tensors; ++i) {
    RZ_TRY(auto entry, read_tensor_entry(in, i));
    entries.push_back(std::move(entry));
  }
  const uint64_t padding = (alignment - in.offset() % alignment) % alignment;
  const auto whole_bytes = bytes_of_whole_file(entries, in.offset() + padding, alignment);
  if (whole_bytes && *whole_bytes > bytes.size()) return cut_off_error(file, bytes.size(), *whole_bytes);
  const auto data_section = bytes.subspan(in.offset() + std::min(padding, in.remaining()));
  result.tensors.reserve(entries.size());
  for (TensorEntry& entry : entries) {
    RZ_TRY(auto tensor, place_tensor(std::move(entry), data_section, alignment, file));
    result.tensors.push_back(std::move(tensor));
  }
  RZ_CHECK_OK(check_no_overlap(result.tensors, bytes.data(), file));
  return result;
}

}  // namespace realizar
