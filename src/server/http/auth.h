// API keys: kept as SHA-256 digests, compared in constant time; and whose share of the engine a client uses.
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

// Whose share of the engine a client uses: the tenant of a key, 0 where it is none. Where no keys are asked for, that
// of a client's address; of one of IPv6 the first 64 bits count, since the client chooses those after them.
inline uint64_t tenant_of(const KeyDigest& key) {
  uint64_t tenant = 0;
  std::memcpy(&tenant, key.data(), sizeof tenant);
  return tenant;
}
uint64_t tenant_of(std::string_view address);

class KeyStore {
 public:
  // A key a line, as it is or as "sha256:" and 64 hexadecimal digits; after "admin" and a space, the key of one who may
  // change the server for others. Empty lines and those that begin with # are skipped. Errors: NotFound;
  // InvalidArgument (neither a file nor a pipe with a writer); FormatError with the line.
  static Result<KeyStore> read(const std::string& path);

  // A key as it is, or after "admin" and a space. Errors: InvalidArgument for one that no header can hold.
  Status add(std::string_view key);

  bool is_empty() const { return keys_.empty(); }
  bool is_admin(const KeyDigest& key) const;
  bool has_admin() const;
  // The digests of all keys.
  std::vector<KeyDigest> digests() const;
  // What users of the machine who are neither the file's owner nor in its group may do with the keys. "": nothing;
  // else a sentence for whoever starts the server. That they can read a file which holds digests alone is no harm.
  const std::string& exposure() const { return exposure_; }
  // The digest of the key in an Authorization header, which is the same whatever line the key stands in; nullopt for
  // any other header.
  std::optional<KeyDigest> find(std::string_view authorization) const;
  // The digest of the key itself, as a header x-api-key (Anthropic) or api-key (Azure) has it.
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
