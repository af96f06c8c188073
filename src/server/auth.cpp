#include "server/auth.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <strings.h>

#include <fstream>

namespace realizar::server {
namespace {

constexpr std::string_view kHashed = "sha256:", kBearer = "Bearer ";

std::array<uint8_t, 32> digest_of(std::string_view key) {
  std::array<uint8_t, 32> digest{};
  SHA256(reinterpret_cast<const uint8_t*>(key.data()), key.size(), digest.data());
  return digest;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::array<uint8_t, 32>> parse_digest(std::string_view hex) {
  std::array<uint8_t, 32> digest{};
  if (hex.size() != 2 * digest.size()) return std::nullopt;
  for (size_t i = 0; i < digest.size(); ++i) {
    const int high = hex_value(hex[2 * i]), low = hex_value(hex[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    digest[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return digest;
}

std::string_view trimmed(std::string_view line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  return line;
}

}  // namespace

Result<KeyStore> KeyStore::read(const std::string& path) {
  std::ifstream file(path);
  if (!file) return not_found("cannot read the API keys in " + path, "api_keys");
  KeyStore store;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::string_view key = trimmed(line);
    if (key.empty() || key.front() == '#') continue;
    if (!key.starts_with(kHashed)) {
      store.digests_.push_back(digest_of(key));
      continue;
    }
    const auto digest = parse_digest(key.substr(kHashed.size()));
    if (!digest) return format_error(fmt::format("{}:{}: expected 64 hexadecimal digits", path, number), path);
    store.digests_.push_back(*digest);
  }
  if (store.digests_.empty()) return format_error(path + " holds no API key", path);
  return store;
}

// Every digest is compared, whole: the time tells nothing.
std::optional<uint64_t> KeyStore::find(std::string_view authorization) const {
  // The scheme's case does not matter (RFC 9110, section 11.1).
  const bool is_bearer =
      authorization.size() > kBearer.size() && strncasecmp(authorization.data(), kBearer.data(), kBearer.size()) == 0;
  if (!is_bearer) return std::nullopt;
  const Digest digest = digest_of(authorization.substr(kBearer.size()));
  std::optional<uint64_t> found;
  for (size_t i = 0; i < digests_.size(); ++i) {
    if (CRYPTO_memcmp(digest.data(), digests_[i].data(), digest.size()) == 0) found = i + 1;
  }
  return found;
}

}  // namespace realizar::server
