#include "hub/hash.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "base/check.h"
#include "base/encodings.h"
#include "base/symbol.h"
#include "base/try.h"

namespace realizar::hub {
namespace {

constexpr size_t kHashBlockBytes = 64, kLengthBytes = 8;

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<uint32_t, 64> kRoundConstants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using State = std::array<uint32_t, 8>;

// The text, a one bit, zeroes, and the text's length in bits, padded to whole blocks.
std::string padded(std::string_view text) {
  std::string bytes(text);
  bytes += '\x80';
  while (bytes.size() % kHashBlockBytes != kHashBlockBytes - kLengthBytes) bytes += '\0';
  const uint64_t n_bits = uint64_t{text.size()} * 8;
  for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(n_bits >> shift);
  return bytes;
}

std::array<uint32_t, 64> schedule_of(std::string_view block) {
  std::array<uint32_t, 64> words{};
  for (size_t i = 0; i < kHashBlockBytes; ++i) words[i / 4] = words[i / 4] << 8 | static_cast<uint8_t>(block[i]);
  for (size_t i = 16; i < words.size(); ++i) {
    const uint32_t a = words[i - 15], b = words[i - 2];
    words[i] = words[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + words[i - 7] +
               (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  return words;
}

void add_block(State& state, std::string_view block) {
  const std::array<uint32_t, 64> words = schedule_of(block);
  auto [a, b, c, d, e, f, g, h] = state;
  for (size_t i = 0; i < words.size(); ++i) {
    const uint32_t sum_e = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const uint32_t sum_a = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const uint32_t first = h + sum_e + ((e & f) ^ (~e & g)) + kRoundConstants[i] + words[i];
    const uint32_t second = sum_a + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  const State added = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < state.size(); ++i) state[i] += added[i];
}

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

bool is_hex_digest(std::string_view hex, Digest::Kind kind) {
  constexpr size_t kSha256Digits = 64, kSha1Digits = 40;
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return hex.size() == (kind == Digest::Kind::kGit ? kSha1Digits : kSha256Digits) && std::ranges::all_of(hex, is_digit);
}

std::string sha256_text(std::string_view text) {
  // The first 32 bits of the fractional parts of the square roots of the first eight primes.
  State state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const std::string bytes = padded(text);
  for (size_t at = 0; at < bytes.size(); at += kHashBlockBytes) {
    add_block(state, std::string_view(bytes).substr(at, kHashBlockBytes));
  }
  std::string hex;
  for (const uint32_t word : state) hex += fmt::format("{:08x}", word);
  return hex;
}

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
