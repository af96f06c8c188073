// Hashes of downloads, computed as they arrive.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "hub/digest.h"
#include "realizar/result.h"

namespace realizar::hub {

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
