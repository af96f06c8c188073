// Digests of files by their hexadecimal digits, and SHA-256 (FIPS 180-4) of short texts, such as names, without a
// library: who only looks for a model needs none. Files are hashed by hash.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace realizar::hub {

// The digest that a server says a file has.
struct Digest {
  enum class Kind : uint8_t {
    kNone,    // it says nothing
    kSha256,  // of the bytes
    kGit,     // SHA-1 of git's header of a blob and the bytes: of small files of Hugging Face
  };
  Kind kind = Kind::kNone;
  std::string hex;  // in lower case

  bool operator==(const Digest&) const = default;
};

// 64 hexadecimal digits in lower case, or 40 of kGit.
bool is_hex_digest(std::string_view hex, Digest::Kind kind);

// SHA-256 in hexadecimal, lower case.
std::string sha256_text(std::string_view text);

}  // namespace realizar::hub
