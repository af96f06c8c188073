#include "hub/hash.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

#include "base/check.h"
#include "base/hex_digit.h"
#include "base/symbol.h"
#include "base/try.h"

namespace realizar::hub {
namespace {

// libcrypto, opened when the first hash is computed: programs that link librealizar and download nothing do not need
// it.
struct CryptoLibrary {
  decltype(&EVP_MD_CTX_new) context_new;
  decltype(&EVP_MD_CTX_free) context_free;
  decltype(&EVP_sha1) sha1;
  decltype(&EVP_sha256) sha256;
  decltype(&EVP_DigestInit_ex) digest_init;
  decltype(&EVP_DigestUpdate) digest_update;
  decltype(&EVP_DigestFinal_ex) digest_final;
};

bool find_symbols(void* library, CryptoLibrary& crypto) {
  return find_symbol(library, "EVP_MD_CTX_new", crypto.context_new) &&
         find_symbol(library, "EVP_MD_CTX_free", crypto.context_free) &&
         find_symbol(library, "EVP_sha1", crypto.sha1) && find_symbol(library, "EVP_sha256", crypto.sha256) &&
         find_symbol(library, "EVP_DigestInit_ex", crypto.digest_init) &&
         find_symbol(library, "EVP_DigestUpdate", crypto.digest_update) &&
         find_symbol(library, "EVP_DigestFinal_ex", crypto.digest_final);
}

Result<CryptoLibrary> open_crypto() {
  // These functions are the same in OpenSSL 1.1.
  for (const char* name : {"libcrypto.so.3", "libcrypto.so.1.1"}) {
    void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    CryptoLibrary crypto{};
    if (find_symbols(library, crypto)) return crypto;
    ::dlclose(library);
  }
  return unsupported("downloads need libcrypto.so.3, which this machine lacks (Debian's package libssl3)", "libcrypto");
}

// Any thread; the library stays open. Errors: Unsupported if this machine does not have it.
Result<const CryptoLibrary*> crypto_library() {
  static const Result<CryptoLibrary> crypto = open_crypto();
  if (!crypto.ok()) return crypto.error();
  return &*crypto;
}

}  // namespace

struct Hasher::Context {
  explicit Context(const CryptoLibrary& library) : crypto(library), context(library.context_new()) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() { crypto.context_free(context); }

  const CryptoLibrary& crypto;
  EVP_MD_CTX* context;
};

Hasher::Hasher(std::unique_ptr<Context> context) : context_(std::move(context)) {}
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher::~Hasher() = default;

Result<Hasher> Hasher::create(Digest::Kind kind, uint64_t n_bytes) {
  RZ_TRY(const CryptoLibrary* crypto, crypto_library());
  auto context = std::make_unique<Context>(*crypto);
  const EVP_MD* method = kind == Digest::Kind::kGit ? crypto->sha1() : crypto->sha256();
  REQUIRE(context->context != nullptr && crypto->digest_init(context->context, method, nullptr) == 1);
  Hasher hasher(std::move(context));
  if (kind == Digest::Kind::kGit) hasher.add(std::string_view(fmt::format("blob {}", n_bytes) + '\0'));
  return hasher;
}

void Hasher::add(std::span<const std::byte> bytes) {
  REQUIRE(context_->crypto.digest_update(context_->context, bytes.data(), bytes.size()) == 1);
}

std::string Hasher::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int n = 0;
  REQUIRE(context_->crypto.digest_final(context_->context, digest.data(), &n) == 1);
  return hex_of(std::span(digest).first(n));
}

}  // namespace realizar::hub
