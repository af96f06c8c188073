#include "server/call/schema_warning.h"

#include <fmt/format.h>

namespace realizar::server {
namespace {

constexpr size_t kMaxPlaces = 4, kMaxPlaceBytes = 90;

// Percent-encoded as in a URI, unless it is plain text.
std::string header_text(const std::string& place) {
  std::string text;
  for (const char c : place) {
    if (text.size() >= kMaxPlaceBytes) return text + "...";
    const bool is_plain = c > ' ' && c < 0x7f && c != '\'';
    text += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return text;
}

}  // namespace

std::string schema_warning(std::span<const std::string> left_out) {
  if (left_out.empty()) return {};
  std::string places;
  for (size_t i = 0; i < left_out.size() && i < kMaxPlaces; ++i) {
    places += fmt::format("{}'{}'", i > 0 ? ", " : "", header_text(left_out[i]));
  }
  if (left_out.size() > kMaxPlaces) places += fmt::format(" and {} more", left_out.size() - kMaxPlaces);
  return fmt::format("The answer is not held to {} of its schema.", places);
}

}  // namespace realizar::server
