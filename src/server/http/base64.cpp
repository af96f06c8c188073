#include "server/http/base64.h"

#include <cstdint>

namespace realizar::server {
namespace {

constexpr std::string_view kBase64Letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string base64_of(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  const auto byte_at = [&](size_t i) { return i < bytes.size() ? static_cast<uint8_t>(bytes[i]) : uint8_t{0}; };
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const uint32_t bits = uint32_t{byte_at(i)} << 16 | uint32_t{byte_at(i + 1)} << 8 | uint32_t{byte_at(i + 2)};
    text += kBase64Letters[bits >> 18];
    text += kBase64Letters[bits >> 12 & 63];
    text += i + 1 < bytes.size() ? kBase64Letters[bits >> 6 & 63] : '=';
    text += i + 2 < bytes.size() ? kBase64Letters[bits & 63] : '=';
  }
  return text;
}

std::optional<std::string> bytes_of_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const size_t n_padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::string bytes;
  for (size_t i = 0; i < text.size(); i += 4) {
    uint32_t bits = 0;
    for (size_t j = i; j < i + 4; ++j) {
      const bool is_padding = j >= text.size() - n_padding;
      const size_t value = is_padding ? 0 : kBase64Letters.find(text[j]);
      if (value == std::string_view::npos) return std::nullopt;
      bits = bits << 6 | static_cast<uint32_t>(value);
    }
    for (const int shift : {16, 8, 0}) bytes += static_cast<char>(bits >> shift & 255);
  }
  bytes.resize(bytes.size() - n_padding);
  return bytes;
}

}  // namespace realizar::server
