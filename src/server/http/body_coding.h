// Compressed bodies (RFC 9110, section 8.4): gzip, deflate and zstd, decoded within limits. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/http/body_room.h"

namespace realizar::server {

enum class BodyCoding : uint8_t { kIdentity, kGzip, kDeflate, kZstd };

// The coding that a Content-Encoding header names, in any case; "" is kIdentity. Nullopt: another, or several.
std::optional<BodyCoding> body_coding(std::string_view content_encoding);
// The names, for a header Accept-Encoding.
inline constexpr const char* kBodyCodings = "gzip, deflate, zstd";

struct DecodedBody {
  enum class End : uint8_t { kWhole, kTooLarge, kNoRoom, kBroken } end = End::kBroken;
  std::string bytes;  // at most max_bytes
};

// Uses no memory beyond max_bytes, or beyond the room that `share`, which holds the coded bytes, can still get. The
// decoder itself uses at most 8 MB more. Bytes after the end of the coded data are an error.
DecodedBody decode_body(std::string_view coded, BodyCoding coding, size_t max_bytes, BodyRoom::Share& share);

}  // namespace realizar::server
