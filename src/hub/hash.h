// Hashes of what is downloaded, taken as it arrives.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace realizar::hub {

// What a server says that a file's bytes give.
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

class Hasher {
 public:
  // kGit wants to know the length of all bytes. kNone hashes as kSha256.
  Hasher(Digest::Kind kind, uint64_t n_bytes);
  Hasher(Hasher&&) noexcept;
  ~Hasher();
  void add(std::span<const std::byte> bytes);
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  // In hexadecimal; call once.
  std::string finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

std::string sha256_text(std::string_view text);

}  // namespace realizar::hub
