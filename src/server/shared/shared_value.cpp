#include "server/shared/shared_value.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/check.h"
#include "base/encodings.h"

namespace realizar::server {
namespace {

constexpr std::string_view kMagic = "RZSHARE1", kRootDomain = "realizar shared prefixes 1";
constexpr std::string_view kKeyDomain = "realizar key 1";
constexpr size_t kNonceBytes = 16, kTagBytes = 16;
constexpr size_t kFingerprintAt = 8, kChainAt = 16, kKindAt = 48, kTokensAt = 52, kBytesAt = 56, kStoredAt = 64;
constexpr size_t kCodingAt = 72, kNonceAt = 76, kHeadBytes = 96;
constexpr uint32_t kAsItIs = 0, kZstd = 1;
constexpr int kLevel = 1;
constexpr size_t kSampleBytes = 64 << 10;

template <class T>
void append_raw(std::string& text, const T& value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
T raw_at(std::string_view text, size_t at) {
  T value{};
  std::memcpy(&value, text.data() + at, sizeof value);
  return value;
}

std::string_view text_of(std::span<const TokenId> tokens) {
  return {reinterpret_cast<const char*>(tokens.data()), tokens.size_bytes()};
}

std::string_view text_of(const Sha256& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

using Tag = std::array<uint8_t, kTagBytes>;

// Poly1305 (RFC 8439, section 2.5), with a one-time key.
std::optional<Tag> tag_of(std::string_view text, const Sha256& once) {
  struct Free {
    void operator()(EVP_MAC* mac) const { ::EVP_MAC_free(mac); }
    void operator()(EVP_MAC_CTX* context) const { ::EVP_MAC_CTX_free(context); }
  };
  const std::unique_ptr<EVP_MAC, Free> mac(::EVP_MAC_fetch(nullptr, "POLY1305", nullptr));
  if (mac == nullptr) return std::nullopt;
  const std::unique_ptr<EVP_MAC_CTX, Free> context(::EVP_MAC_CTX_new(mac.get()));
  Tag tag{};
  size_t n_bytes = 0;
  const bool is_made =
      context != nullptr && ::EVP_MAC_init(context.get(), once.data(), once.size(), nullptr) == 1 &&
      ::EVP_MAC_update(context.get(), reinterpret_cast<const uint8_t*>(text.data()), text.size()) == 1 &&
      ::EVP_MAC_final(context.get(), tag.data(), &n_bytes, tag.size()) == 1;
  return is_made && n_bytes == tag.size() ? std::optional(tag) : std::nullopt;
}

Sha256 once_key(const SharedPiece& piece, std::string_view nonce) {
  std::string text("tag");
  text += text_of(*piece.root);
  text += nonce;
  text += text_of(*piece.chain);
  append_raw(text, piece.kind);
  return digest_of(text);
}

bool is_worth_compressing(std::span<const std::byte> bytes) {
  const size_t n_sample = std::min(bytes.size(), kSampleBytes);
  const auto sample = bytes.subspan((bytes.size() - n_sample) / 2, n_sample);
  std::vector<char> coded(::ZSTD_compressBound(n_sample));
  const size_t n_coded = ::ZSTD_compress(coded.data(), coded.size(), sample.data(), sample.size(), kLevel);
  return ::ZSTD_isError(n_coded) == 0 && n_coded <= n_sample - n_sample / 4;
}

// nullopt if the bytes are better stored uncompressed.
std::optional<std::string> compressed(std::span<const std::byte> bytes) {
  if (!is_worth_compressing(bytes)) return std::nullopt;
  std::string coded(::ZSTD_compressBound(bytes.size()), '\0');
  const size_t n_coded = ::ZSTD_compress(coded.data(), coded.size(), bytes.data(), bytes.size(), kLevel);
  if (::ZSTD_isError(n_coded) != 0 || n_coded >= bytes.size()) return std::nullopt;
  coded.resize(n_coded);
  return coded;
}

}  // namespace

std::string SharedNames::beginning_of(const KeyDigest& key) {
  constexpr size_t kBytes = 8;
  std::string text(kKeyDomain);
  text.append(reinterpret_cast<const char*>(key.data()), key.size());
  const Sha256 digest = digest_of(text);
  return "realizar:" + hex_of(std::span(digest).first(kBytes)) + ":";
}

SharedNames::SharedNames(const engine::PrefixShape& shape, const engine::Engine::PrefixSalt& salt,
                         std::string_view cache_name, std::span<const TokenId> tokens) {
  std::string all(kRootDomain);
  append_raw(all, shape.fingerprint);
  append_raw(all, shape.block_tokens);
  append_raw(all, shape.n_groups);
  append_raw(all, shape.block_bytes);
  append_raw(all, shape.state_bytes);
  append_raw(all, salt.adapter_fingerprint);
  append_raw(all, salt.adapter_factor);
  all += cache_name;  // the last part, so that it cannot run into another
  root_ = digest_of(all);
  KeyDigest key{};
  cache_name.copy(reinterpret_cast<char*>(key.data()), key.size());
  beginning_ = beginning_of(key);
  const Sha256* before = &root_;
  chain_.reserve(tokens.size() / shape.block_tokens);
  for (; tokens.size() >= shape.block_tokens; tokens = tokens.subspan(shape.block_tokens)) {
    std::string link(text_of(*before));
    link += text_of(tokens.first(shape.block_tokens));
    before = &chain_.emplace_back(digest_of(link));
  }
}

std::string SharedNames::key_of(const engine::PieceAt& piece) const {
  return beginning_ + hex_of(chain_[piece.block]) + ":" + std::to_string(piece.kind);
}

size_t max_value_bytes(size_t n_tokens, size_t n_bytes) {
  return kHeadBytes + n_tokens * sizeof(TokenId) + n_bytes + kTagBytes;
}

std::optional<std::string> write_value(const SharedPiece& piece, std::span<const std::byte> bytes) {
  const std::optional<std::string> coded = compressed(bytes);
  const std::string_view stored =
      coded ? std::string_view(*coded) : std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::array<uint8_t, kNonceBytes> nonce{};
  if (::RAND_bytes(nonce.data(), static_cast<int>(nonce.size())) != 1) return std::nullopt;
  std::string value;
  value.reserve(max_value_bytes(piece.tokens.size(), stored.size()));
  value += kMagic;
  append_raw(value, piece.fingerprint);
  value += text_of(*piece.chain);
  append_raw(value, piece.kind);
  append_raw(value, static_cast<uint32_t>(piece.tokens.size()));
  append_raw(value, uint64_t{bytes.size()});
  append_raw(value, uint64_t{stored.size()});
  append_raw(value, coded ? kZstd : kAsItIs);
  append_raw(value, nonce);
  append_raw(value, uint32_t{0});
  REQUIRE(value.size() == kHeadBytes);
  value += text_of(piece.tokens);
  value += stored;
  if (!seal_value(value, piece)) return std::nullopt;
  return value;
}

bool seal_value(std::string& value, const SharedPiece& piece) {
  REQUIRE(value.size() >= kHeadBytes);
  const auto tag = tag_of(value, once_key(piece, std::string_view(value).substr(kNonceAt, kNonceBytes)));
  if (tag) append_raw(value, *tag);
  return tag.has_value();
}

bool read_value(std::string_view value, const SharedPiece& piece, std::span<std::byte> bytes) {
  const size_t n_around = max_value_bytes(piece.tokens.size(), 0);
  if (value.size() < n_around || !value.starts_with(kMagic)) return false;
  const size_t n_stored = value.size() - n_around;
  const auto coding = raw_at<uint32_t>(value, kCodingAt);
  const bool has_sizes = raw_at<uint32_t>(value, kTokensAt) == piece.tokens.size() &&
                         raw_at<uint64_t>(value, kBytesAt) == bytes.size() &&
                         raw_at<uint64_t>(value, kStoredAt) == n_stored && n_stored <= bytes.size() &&
                         (coding == kZstd || (coding == kAsItIs && n_stored == bytes.size()));
  if (!has_sizes) return false;
  const bool is_of_piece = raw_at<uint64_t>(value, kFingerprintAt) == piece.fingerprint &&
                           value.substr(kChainAt, piece.chain->size()) == text_of(*piece.chain) &&
                           raw_at<uint32_t>(value, kKindAt) == piece.kind &&
                           value.substr(kHeadBytes, piece.tokens.size_bytes()) == text_of(piece.tokens);
  if (!is_of_piece) return false;
  const std::string_view before_tag = value.substr(0, value.size() - kTagBytes);
  const auto tag = tag_of(before_tag, once_key(piece, value.substr(kNonceAt, kNonceBytes)));
  if (!tag || ::CRYPTO_memcmp(tag->data(), value.data() + before_tag.size(), kTagBytes) != 0) return false;
  const std::string_view stored = before_tag.substr(before_tag.size() - n_stored);
  if (coding == kAsItIs) {
    std::memcpy(bytes.data(), stored.data(), bytes.size());
    return true;
  }
  return ::ZSTD_decompress(bytes.data(), bytes.size(), stored.data(), stored.size()) == bytes.size();
}

}  // namespace realizar::server
