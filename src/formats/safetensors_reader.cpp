#include "formats/safetensors_reader.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/amounts.h"
#include "base/plain_json.h"
#include "base/try.h"
#include "formats/byte_cursor.h"
#include "formats/layout.h"

namespace realizar {
namespace {

namespace dom = simdjson::dom;

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit
constexpr size_t kMaxHeaderDepth = 8;

std::optional<TypeId> type_of(std::string_view dtype) {
  if (dtype == "F32") return TypeId::kF32;
  if (dtype == "F16") return TypeId::kF16;
  if (dtype == "BF16") return TypeId::kBF16;
  if (dtype == "F8_E4M3") return TypeId::kF8_E4M3;
  return std::nullopt;
}

// Position ids, causal masks and rotary frequencies, which are not weights, recognized by their suffixes in
// transformers.
bool is_known_buffer(std::string_view name) {
  constexpr std::string_view kEnds[] = {".position_ids",          ".attn.bias",
                                        ".attn.masked_bias",      ".attention.bias",
                                        ".attention.masked_bias", ".rotary_emb.inv_freq"};
  return std::any_of(std::begin(kEnds), std::end(kEnds), [&](std::string_view end) { return name.ends_with(end); });
}

// Element sizes of types that only occur in buffers and parts of quantized matrices.
std::optional<uint64_t> raw_elem_bytes(std::string_view dtype) {
  if (dtype == "BOOL" || dtype == "U8" || dtype == "I8") return 1;
  if (dtype == "I16" || dtype == "U16") return 2;
  if (dtype == "I32" || dtype == "U32") return 4;
  if (dtype == "I64" || dtype == "U64" || dtype == "F64") return 8;
  return std::nullopt;
}

struct Places {
  std::string_view file;
  std::span<const std::byte> data;
  uint64_t n_file_bytes = 0;
  uint64_t n_whole_bytes = 0;  // size of the data according to the header, if its ranges are contiguous; else 0
};

Error tensor_error(const Places& places, std::string_view name, std::string_view what) {
  return format_error(fmt::format("{}: tensor '{}': {}", places.file, name, what), std::string(name));
}

Result<std::vector<uint64_t>> read_shape(const Places& places, std::string_view name, dom::element entry) {
  dom::array dims;
  if (entry["shape"].get(dims) != simdjson::SUCCESS) return tensor_error(places, name, "expected an array 'shape'");
  std::vector<uint64_t> shape;
  for (const dom::element dim : dims) {
    uint64_t value = 0;
    if (dim.get(value) != simdjson::SUCCESS) return tensor_error(places, name, "expected whole numbers in 'shape'");
    shape.push_back(value);
  }
  return shape;
}

Result<std::span<const std::byte>> read_range(const Places& places, std::string_view name, dom::element entry) {
  dom::array offsets;
  uint64_t begin = 0, end = 0;
  if (entry["data_offsets"].get(offsets) != simdjson::SUCCESS || offsets.size() != 2 ||
      offsets.at(0).get(begin) != simdjson::SUCCESS || offsets.at(1).get(end) != simdjson::SUCCESS) {
    return tensor_error(places, name, "expected 'data_offsets' of two whole numbers");
  }
  if (begin <= end && end <= places.n_whole_bytes && end > places.data.size()) {
    const uint64_t n_before = places.n_file_bytes - places.data.size();
    return cut_off_error(places.file, places.n_file_bytes, n_before + places.n_whole_bytes);
  }
  if (begin > end || end > places.data.size()) {
    return tensor_error(places, name,
                        fmt::format("data_offsets: expected a range within {} bytes of data, actual [{}, {}]",
                                    places.data.size(), begin, end));
  }
  return places.data.subspan(begin, end - begin);
}

// The size of the data that the header announces; 0 if its ranges have gaps or overlap, so that some are wrong.
uint64_t announced_bytes(const dom::object& fields) {
  uint64_t last = 0, sum = 0;
  for (const auto field : fields) {
    dom::array offsets;
    uint64_t begin = 0, end = 0;
    const bool is_range = field.value["data_offsets"].get(offsets) == simdjson::SUCCESS && offsets.size() == 2 &&
                          offsets.at(0).get(begin) == simdjson::SUCCESS &&
                          offsets.at(1).get(end) == simdjson::SUCCESS && begin <= end;
    if (!is_range) continue;
    last = std::max(last, end);
    sum += end - begin;
  }
  return last == sum ? sum : 0;
}

struct Entry {
  std::string name;
  std::string dtype;
  std::optional<TypeId> type;  // nullopt: a buffer, or a part of a quantized matrix
  std::vector<uint64_t> shape;
  std::span<const std::byte> data;
};

Result<Entry> read_entry(const Places& places, std::string_view name, dom::element element) {
  std::string_view dtype;
  if (!element.is_object() || element["dtype"].get(dtype) != simdjson::SUCCESS) {
    return tensor_error(places, name, "expected an object with a string 'dtype'");
  }
  Entry entry{std::string(name), std::string(dtype), type_of(dtype), {}, {}};
  const auto elem_bytes = entry.type ? traits(*entry.type).block_bytes : raw_elem_bytes(dtype);
  if (!elem_bytes) return unsupported_element_type(places.file, name, dtype);
  RZ_TRY(entry.shape, read_shape(places, name, element));
  const auto n_bytes = plain_tensor_bytes(entry.shape, *elem_bytes);
  if (!n_bytes.ok()) return tensor_error(places, name, "shape: " + n_bytes.error().message);
  RZ_TRY(entry.data, read_range(places, name, element));
  if (entry.data.size() == *n_bytes) return entry;
  return tensor_error(places, name,
                      fmt::format("data_offsets: expected {} bytes of {} {}, actual {}", *n_bytes, dtype,
                                  shape_to_string(entry.shape), entry.data.size()));
}

// The format allows no byte between tensors, before the first or after the last.
Status check_no_gap(const Places& places, std::span<const Entry> entries) {
  const std::byte* end = places.data.data();
  for (const Entry& entry : entries) {
    if (entry.data.data() != end) {
      return tensor_error(
          places, entry.name,
          fmt::format("data_offsets: expected a start at {}, where the tensor before it ends, actual {}",
                      end - places.data.data(), entry.data.data() - places.data.data()));
    }
    end += entry.data.size();
  }
  if (end == places.data.data() + places.data.size()) return {};
  return format_error(fmt::format("{}: expected the last tensor to end with the file, actual {} bytes after it",
                                  places.file, places.data.data() + places.data.size() - end),
                      std::string(places.file));
}

Result<dom::element> parse_object(dom::parser& parser, std::string_view text, std::string_view what) {
  dom::element root;
  if (parser.allocate(text.size(), kMaxHeaderDepth) != simdjson::SUCCESS) {
    return Error{ErrorCode::kResourceExhausted, fmt::format("{}: too large to parse", what), std::string(what)};
  }
  if (const auto error = parser.parse(simdjson::padded_string(text)).get(root); error != simdjson::SUCCESS) {
    return format_error(fmt::format("{}: not valid JSON: {}", what, simdjson::error_message(error)), std::string(what));
  }
  if (!root.is_object()) return format_error(fmt::format("{}: expected a JSON object", what), std::string(what));
  return root;
}

// The path without "./" and similar parts; nullopt if it is not below the folder.
std::optional<std::string> file_below(std::string_view name) {
  if (name.empty() || name.ends_with('/') || name.find('\0') != std::string_view::npos) return std::nullopt;
  const auto path = std::filesystem::path(name).lexically_normal();
  if (path.is_absolute() || *path.begin() == ".." || !path.has_filename() || path == ".") return std::nullopt;
  return path.generic_string();
}

}  // namespace

Error unsupported_element_type(std::string_view file, std::string_view name, std::string_view dtype) {
  return unsupported(
      fmt::format("{}: tensor '{}': element type {} is not supported (F32, F16, BF16, F8_E4M3 are)", file, name, dtype),
      std::string(name));
}

Result<SafeTensors> parse_safetensors(std::span<const std::byte> bytes, std::string_view file) {
  ByteCursor in(bytes, file);
  RZ_TRY(const auto header_bytes, in.read<uint64_t>("header length"));
  if (header_bytes <= kMaxHeaderBytes && header_bytes > in.remaining()) {
    return format_error(fmt::format("{}: the file is cut off: it ends within its header, after {}; download it again",
                                    file, bytes_text(bytes.size())),
                        std::string(file));
  }
  if (header_bytes > kMaxHeaderBytes) {
    return field_error(file, "header length", 0, fmt::format("at most {}", kMaxHeaderBytes),
                       std::to_string(header_bytes));
  }
  RZ_TRY(const auto header, in.take(header_bytes, 1, "header"));
  Places places{file, bytes.subspan(in.offset()), bytes.size()};

  dom::parser parser;
  const std::string what = fmt::format("{}: header", file);
  RZ_TRY(const dom::element root,
         parse_object(parser, {reinterpret_cast<const char*>(header.data()), header.size()}, what));
  std::vector<Entry> entries;
  const dom::object fields = root.get_object().value_unsafe();
  places.n_whole_bytes = announced_bytes(fields);
  for (const auto field : fields) {
    if (field.key == "__metadata__") continue;
    RZ_TRY(auto entry, read_entry(places, field.key, field.value));
    entries.push_back(std::move(entry));
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.data.data() < b.data.data(); });
  RZ_CHECK_OK(check_no_gap(places, entries));
  SafeTensors out;
  for (Entry& entry : entries) {
    if (entry.type) {
      out.tensors.push_back({std::move(entry.name), *entry.type, std::move(entry.shape), entry.data});
    } else if (is_known_buffer(entry.name)) {
      out.buffers.push_back(std::move(entry.name));
    } else {
      out.raws.push_back({std::move(entry.name), std::move(entry.dtype), std::move(entry.shape), entry.data});
    }
  }
  RZ_CHECK_OK(index_tensors(out.tensors, file));
  return out;
}

Result<ShardMap> parse_safetensors_index(std::string_view text, std::string_view file) {
  dom::parser parser;
  RZ_TRY(const dom::element root, parse_object(parser, plain_json(text), file));
  dom::object map;
  if (root["weight_map"].get(map) != simdjson::SUCCESS) {
    return format_error(fmt::format("{}: expected an object 'weight_map'", file), std::string(file));
  }
  ShardMap shards;
  for (const auto field : map) {
    std::string_view name;
    const bool is_text = field.value.get(name) == simdjson::SUCCESS;
    auto shard = is_text ? file_below(name) : std::nullopt;
    if (!shard) {
      return format_error(
          fmt::format("{}: weight_map '{}': expected the name of a file in the folder", file, field.key),
          std::string(file));
    }
    shards.emplace(field.key, std::move(*shard));
  }
  return shards;
}

}  // namespace realizar
