#include "server/http/auth.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <sstream>

#include "base/ascii_case.h"
#include "base/encodings.h"
#include "base/files.h"
#include "base/try.h"
#include "server/http/http.h"

namespace realizar::server {
namespace {

constexpr uint64_t kMaxBytes = 16u << 20;  // of a key file
constexpr std::string_view kHashed = "sha256:", kBearer = "Bearer ", kAdmin = "admin";

std::optional<KeyDigest> parse_digest(std::string_view hex) {
  KeyDigest digest{};
  if (hex.size() != 2 * digest.size()) return std::nullopt;
  for (size_t i = 0; i < digest.size(); ++i) {
    const int high = hex_digit(hex[2 * i]), low = hex_digit(hex[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    digest[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return digest;
}

// Removes "admin" and the separator before the key from a line; a key named "admin" remains one.
bool take_admin(std::string_view& line) {
  const bool is_admin =
      line.starts_with(kAdmin) && line.size() > kAdmin.size() && line.find_first_of(" \t") == kAdmin.size();
  if (is_admin) line = trimmed(line.substr(kAdmin.size()));
  return is_admin;
}

// For example the zeros of UTF-16, which no client could send as part of a key.
bool has_control_characters(std::string_view key) {
  return std::ranges::any_of(key, [](char c) { return static_cast<uint8_t>(c) < ' ' || c == 0x7f; });
}

}  // namespace

KeyDigest digest_of(std::string_view key) {
  KeyDigest digest{};
  SHA256(reinterpret_cast<const uint8_t*>(key.data()), key.size(), digest.data());
  return digest;
}

uint64_t tenant_of(std::string_view address) {
  in6_addr ipv6{};
  const bool is_ipv6 = ::inet_pton(AF_INET6, std::string(address).c_str(), &ipv6) == 1;
  if (!is_ipv6 || IN6_IS_ADDR_V4MAPPED(&ipv6)) return tenant_of(digest_of(address));
  return tenant_of(digest_of({reinterpret_cast<const char*>(ipv6.s6_addr), 8}));
}

Result<KeyStore> KeyStore::read(const std::string& path) {
  RZ_TRY(const std::string text, read_file_or_pipe(path, kMaxBytes));
  std::istringstream lines(text);
  KeyStore store;
  bool holds_secrets = false;
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::string_view key = trimmed(line);
    if (key.empty() || key.front() == '#') continue;
    const bool is_admin = take_admin(key);
    if (has_control_characters(key)) {
      return format_error(
          fmt::format("{}:{}: a key has no control characters; the file is text in UTF-8", path, number), path);
    }
    if (!key.starts_with(kHashed)) {
      store.keys_.push_back({digest_of(key), is_admin});
      holds_secrets = true;
      continue;
    }
    const auto digest = parse_digest(key.substr(kHashed.size()));
    if (!digest) return format_error(fmt::format("{}:{}: expected 64 hexadecimal digits", path, number), path);
    store.keys_.push_back({*digest, is_admin});
  }
  if (store.keys_.empty()) return format_error(path + " holds no API key", path);
  store.exposure_ = exposure_of(path, "the API keys", holds_secrets);
  return store;
}

Status KeyStore::add(std::string_view key) {
  const bool is_admin = take_admin(key);
  const bool is_plain = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (!is_plain) return invalid_argument("an API key has printable ASCII characters and no spaces", "api_key");
  keys_.push_back({digest_of(key), is_admin});
  return {};
}

bool KeyStore::is_admin(const KeyDigest& key) const {
  return std::ranges::any_of(keys_, [&](const Key& known) { return known.is_admin && known.digest == key; });
}

bool KeyStore::has_admin() const {
  return std::ranges::any_of(keys_, &Key::is_admin);
}

std::vector<KeyDigest> KeyStore::digests() const {
  std::vector<KeyDigest> digests;
  for (const Key& key : keys_) digests.push_back(key.digest);
  return digests;
}

std::optional<KeyDigest> KeyStore::find(std::string_view authorization) const {
  // The scheme's case does not matter, and any number of spaces follows it (RFC 9110, sections 11.1 and 11.4).
  const bool is_bearer = authorization.size() > kBearer.size() && starts_with_ignoring_case(authorization, kBearer);
  if (!is_bearer) return std::nullopt;
  authorization.remove_prefix(std::min(authorization.find_first_not_of(' ', kBearer.size()), authorization.size()));
  return find_key(authorization);
}

// Compares with every digest, and all of it, so that the time reveals nothing.
std::optional<KeyDigest> KeyStore::find_key(std::string_view key) const {
  if (key.empty()) return std::nullopt;
  const KeyDigest digest = digest_of(key);
  bool is_known = false;
  for (const Key& known : keys_) {
    if (CRYPTO_memcmp(digest.data(), known.digest.data(), digest.size()) == 0) is_known = true;
  }
  return is_known ? std::optional(digest) : std::nullopt;
}

}  // namespace realizar::server
