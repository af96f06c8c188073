// API keys, stored as SHA-256 digests and compared in constant time, and the tenants that share the engine.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/result.h"

namespace realizar::server {

// SHA-256 of a key.
using KeyDigest = std::array<uint8_t, 32>;
KeyDigest digest_of(std::string_view key);

// The tenant whose share of the engine a client uses: that of its key, or 0 for no key. Without keys it is that of the
// client's address; for IPv6 only the first 64 bits count, since the client chooses the rest.
inline uint64_t tenant_of(const KeyDigest& key) {
  uint64_t tenant = 0;
  std::memcpy(&tenant, key.data(), sizeof tenant);
  return tenant;
}
uint64_t tenant_of(std::string_view address);

class KeyStore {
 public:
  // One key per line, in plain text or as "sha256:" and 64 hexadecimal digits; after "admin" and a space, the key of an
  // administrator, who may change the server for others. Skips empty lines and lines that begin with #. Errors:
  // NotFound; InvalidArgument (neither a file nor a pipe with a writer); FormatError with the line.
  static Result<KeyStore> read(const std::string& path);

  // A key in plain text, possibly after "admin" and a space. Errors: InvalidArgument if no header can contain the key.
  Status add(std::string_view key);

  bool is_empty() const { return keys_.empty(); }
  bool is_admin(const KeyDigest& key) const;
  bool has_admin() const;
  // The digests of all keys.
  std::vector<KeyDigest> digests() const;
  // The rights of users who are neither the file's owner nor in its group. "": none; otherwise a warning for whoever
  // starts the server. Reading a file that only contains digests is harmless.
  const std::string& exposure() const { return exposure_; }
  // The digest of the key in an Authorization header, in any line of the key file; nullopt for any other header.
  std::optional<KeyDigest> find(std::string_view authorization) const;
  // The digest of the key itself, as headers x-api-key (Anthropic) or api-key (Azure) contain it.
  std::optional<KeyDigest> find_key(std::string_view key) const;

 private:
  struct Key {
    KeyDigest digest{};
    bool is_admin = false;
  };

  std::vector<Key> keys_;
  std::string exposure_;
};

}  // namespace realizar::server
