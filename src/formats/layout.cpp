#include "formats/layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "base/amounts.h"

namespace realizar {

namespace {
constexpr uint64_t kMaxTensorBytes = uint64_t{1} << 63;
}

Error field_error(std::string_view file, std::string_view field, uint64_t offset, std::string_view expected,
                  std::string_view actual) {
  return format_error(fmt::format("{}: {} at byte {}: expected {}, actual {}", file, field, offset, expected, actual),
                      std::string(file));
}

Error cut_off_error(std::string_view file, uint64_t n_bytes, uint64_t n_expected_bytes) {
  std::string is = bytes_text(n_bytes), should_be = bytes_text(n_expected_bytes);
  if (is == should_be) {  // only the last few bytes are missing
    is = fmt::format("{}", n_bytes);
    should_be = fmt::format("{} bytes", n_expected_bytes);
  }
  return format_error(fmt::format("{}: the file is cut off: {} of {}; download it again", file, is, should_be),
                      std::string(file));
}

Error ends_within_error(std::string_view file, uint64_t n_file_bytes, std::string_view field, uint64_t offset,
                        uint64_t n, uint64_t elem_bytes) {
  const std::string times = elem_bytes == 1 ? "" : fmt::format(" x {}", elem_bytes);
  return format_error(
      fmt::format("{}: the file is cut off or damaged: it has {}, and {} at byte {} needs at least {}{} "
                  "bytes; download it again",
                  file, bytes_text(n_file_bytes), field, offset, n, times),
      std::string(file));
}

std::string shape_to_string(std::span<const uint64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

Result<uint64_t> plain_tensor_bytes(std::span<const uint64_t> shape, uint64_t elem_bytes) {
  if (std::ranges::find(shape, 0u) != shape.end()) return uint64_t{0};
  uint64_t bytes = elem_bytes;
  for (const uint64_t dim : shape) {
    if (dim > kMaxTensorBytes / bytes) {
      return format_error("expected less than 2^63 bytes, actual shape " + shape_to_string(shape));
    }
    bytes *= dim;
  }
  return bytes;
}

Result<uint64_t> tensor_bytes(const TypeTraits& type, std::span<const uint64_t> shape) {
  const uint64_t row = shape.empty() ? 1 : shape.back();
  if (row % type.block_elems != 0) {
    return format_error(fmt::format("expected rows of a multiple of {} elements ({}), actual shape {}",
                                    type.block_elems, type.name, shape_to_string(shape)));
  }
  if (shape.empty()) return uint64_t{type.block_bytes};
  std::vector<uint64_t> blocks(shape.begin(), shape.end());
  blocks.back() = row / type.block_elems;
  auto bytes = plain_tensor_bytes(blocks, type.block_bytes);
  // The decoded tensor must be addressable too: a block type has fewer bytes than elements.
  auto decoded_bytes = plain_tensor_bytes(shape, sizeof(float));
  if (!decoded_bytes.ok()) return decoded_bytes;
  return bytes;
}

Status check_no_overlap(std::span<const TensorInfo> tensors, const std::byte* file_start, std::string_view file) {
  std::vector<uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0u);
  std::erase_if(order, [&](uint32_t i) { return tensors[i].data.empty(); });
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return tensors[a].data.data() < tensors[b].data.data(); });
  for (size_t i = 1; i < order.size(); ++i) {
    const TensorInfo& before = tensors[order[i - 1]];
    const TensorInfo& after = tensors[order[i]];
    const auto end = static_cast<uint64_t>(before.data.data() - file_start) + before.data.size();
    const auto begin = static_cast<uint64_t>(after.data.data() - file_start);
    if (begin < end) {
      return field_error(file, "data of tensor '" + after.name + "'", begin,
                         fmt::format("a start at or after {}, where '{}' ends", end, before.name), "an overlap");
    }
  }
  return {};
}

Result<TensorIndex> index_tensors(std::span<const TensorInfo> tensors, std::string_view file) {
  TensorIndex index;
  index.reserve(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!index.emplace(tensors[i].name, i).second) {
      return format_error(fmt::format("{}: tensor '{}': expected each name once, actual entries {} and {}", file,
                                      tensors[i].name, index[tensors[i].name], i),
                          tensors[i].name);
    }
  }
  return index;
}

}  // namespace realizar
