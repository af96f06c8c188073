// Digests of files as servers give them, and hashes of downloads, computed as they arrive.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "realizar/result.h"

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

// SHA-256 (FIPS 180-4) of a short text, such as a name, in lower-case hexadecimal. Needs no library, so that looking up
// a model needs none.
std::string sha256_text(std::string_view text);

class Hasher {
 public:
  // kGit needs the total length in advance. kNone computes SHA-256. Errors: Unsupported without libcrypto.
  static Result<Hasher> create(Digest::Kind kind, uint64_t n_bytes);
  Hasher(Hasher&&) noexcept;
  ~Hasher();
  void add(std::span<const std::byte> bytes);
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  // In hexadecimal; call once.
  std::string finish();

 private:
  struct Context;
  explicit Hasher(std::unique_ptr<Context> context);
  std::unique_ptr<Context> context_;
};

}  // namespace realizar::hub
