// Reads little-endian values from bytes that came from outside; every read is bounds-checked.
// Borrows the bytes and the file's name.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/try.h"
#include "formats/layout.h"
#include "realizar/result.h"

namespace realizar {

static_assert(std::endian::native == std::endian::little, "files are mapped and used as they are");

class ByteCursor {
 public:
  ByteCursor(std::span<const std::byte> bytes, std::string_view file) : bytes_(bytes), file_(file) {}

  uint64_t offset() const { return offset_; }
  uint64_t remaining() const { return bytes_.size() - offset_; }
  std::string_view file() const { return file_; }

  // FormatError if the data that `field` at `at` announces does not fit in the rest of the file.
  Status need(uint64_t n, uint64_t elem_bytes, std::string_view field, uint64_t at) const {
    if (n <= remaining() / elem_bytes) return {};
    return ends_within_error(file_, bytes_.size(), field, at, n, elem_bytes);
  }

  // The next n * elem_bytes bytes. `field` names them in the error.
  Result<std::span<const std::byte>> take(uint64_t n, uint64_t elem_bytes, std::string_view field) {
    RZ_CHECK_OK(need(n, elem_bytes, field, offset_));
    const auto taken = bytes_.subspan(offset_, n * elem_bytes);
    offset_ += taken.size();
    return taken;
  }

  template <class T>
  Result<T> read(std::string_view field) {
    RZ_TRY(const auto raw, take(1, sizeof(T), field));
    T value;
    std::memcpy(&value, raw.data(), sizeof(T));
    return value;
  }

  // A 64-bit length, then that many bytes; a view into the bytes.
  Result<std::string_view> read_string(std::string_view field) {
    RZ_TRY(const auto length, read<uint64_t>(field));
    RZ_TRY(const auto raw, take(length, 1, field));
    return std::string_view(reinterpret_cast<const char*>(raw.data()), raw.size());
  }

 private:
  std::span<const std::byte> bytes_;
  std::string_view file_;
  uint64_t offset_ = 0;
};

}  // namespace realizar
