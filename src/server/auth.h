// API keys: kept as SHA-256 digests, compared in constant time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/result.h"

namespace realizar::server {

class KeyStore {
 public:
  // A key a line, as it is or as "sha256:" and 64 hexadecimal digits; empty lines and those that begin with # are
  // skipped. Errors: NotFound, FormatError with the line.
  static Result<KeyStore> read(const std::string& path);

  bool is_empty() const { return digests_.empty(); }
  // The number of the key in an Authorization header, 1 for the first; nullopt for any other header.
  std::optional<uint64_t> find(std::string_view authorization) const;

 private:
  using Digest = std::array<uint8_t, 32>;
  std::vector<Digest> digests_;
};

}  // namespace realizar::server
