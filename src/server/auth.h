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
  using Digest = std::array<uint8_t, 32>;  // SHA-256

  // A key a line, as it is or as "sha256:" and 64 hexadecimal digits; empty lines and those that begin with # are
  // skipped. Errors: NotFound; InvalidArgument (neither a file nor a pipe with a writer); FormatError with the line.
  static Result<KeyStore> read(const std::string& path);

  bool is_empty() const { return digests_.empty(); }
  // What users of the machine who are neither the file's owner nor in its group may do with the keys. "": nothing;
  // else a sentence for whoever starts the server. That they can read a file which holds digests alone is no harm.
  const std::string& exposure() const { return exposure_; }
  // The number of the key in an Authorization header, 1 for the first; nullopt for any other header.
  std::optional<uint64_t> find(std::string_view authorization) const;
  // The digest of the key with that number (1 for the first), which stays the same when the file is put in another
  // order.
  const Digest& digest(uint64_t number) const { return digests_[number - 1]; }

 private:
  std::vector<Digest> digests_;
  std::string exposure_;
};

}  // namespace realizar::server
