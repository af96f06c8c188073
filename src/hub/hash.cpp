#include "hub/hash.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

#include "base/check.h"
#include "base/hex_digit.h"

namespace realizar::hub {

struct Hasher::Context {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  Context() = default;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() { EVP_MD_CTX_free(context); }
};

Hasher::Hasher(Digest::Kind kind, uint64_t n_bytes) : context_(std::make_unique<Context>()) {
  const EVP_MD* method = kind == Digest::Kind::kGit ? EVP_sha1() : EVP_sha256();
  REQUIRE(context_->context != nullptr && EVP_DigestInit_ex(context_->context, method, nullptr) == 1);
  if (kind == Digest::Kind::kGit) add(std::string_view(fmt::format("blob {}", n_bytes) + '\0'));
}
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher::~Hasher() = default;

void Hasher::add(std::span<const std::byte> bytes) {
  REQUIRE(EVP_DigestUpdate(context_->context, bytes.data(), bytes.size()) == 1);
}

std::string Hasher::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int n = 0;
  REQUIRE(EVP_DigestFinal_ex(context_->context, digest.data(), &n) == 1);
  return hex_of(std::span(digest).first(n));
}

}  // namespace realizar::hub
