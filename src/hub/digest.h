// Digests of files as hexadecimal digits, and SHA-256 (FIPS 180-4) of short texts, such as names, without a library:
// looking up a model needs none. Files are hashed by hash.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace realizar::hub {

// A file's digest according to a server.
struct Digest {
  enum class Kind : uint8_t {
    kNone,    // none given
    kSha256,  // of the file's bytes
    kGit,     // SHA-1 of git's blob header and the bytes: for small files on Hugging Face
  };
  Kind kind = Kind::kNone;
  std::string hex;  // in lower case

  bool operator==(const Digest&) const = default;
};

// 64 hexadecimal digits in lower case, or 40 for kGit.
bool is_hex_digest(std::string_view hex, Digest::Kind kind);

// SHA-256 in hexadecimal, lower case.
std::string sha256_text(std::string_view text);

}  // namespace realizar::hub
