#include "kv/sip_hash.h"

#include <bit>
#include <cstring>
#include <span>

#include "base/random_bytes.h"

namespace realizar::kv {

static_assert(std::endian::native == std::endian::little, "words are hashed as they lie in memory");

HashKey random_hash_key() {
  HashKey key{};
  fill_randomly(std::as_writable_bytes(std::span(key)));
  return key;
}

SipHash::SipHash(const HashKey& key)
    : v0_(key[0] ^ 0x736f6d6570736575u),
      v1_(key[1] ^ 0x646f72616e646f6du),
      v2_(key[0] ^ 0x6c7967656e657261u),
      v3_(key[1] ^ 0x7465646279746573u) {}

void SipHash::take(uint64_t word) {
  n_bytes_ += sizeof word;
  v3_ ^= word;
  round();
  round();
  v0_ ^= word;
}

uint64_t SipHash::finish(std::span<const std::byte> bytes) {
  for (; bytes.size() >= sizeof(uint64_t); bytes = bytes.subspan(sizeof(uint64_t))) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    take(word);
  }
  uint64_t last = 0;
  if (!bytes.empty()) std::memcpy(&last, bytes.data(), bytes.size());
  take(last | (n_bytes_ + bytes.size()) << 56);
  v2_ ^= 0xff;
  for (int i = 0; i < 4; ++i) round();
  return v0_ ^ v1_ ^ v2_ ^ v3_;
}

void SipHash::round() {
  v0_ += v1_;
  v1_ = std::rotl(v1_, 13) ^ v0_;
  v0_ = std::rotl(v0_, 32);
  v2_ += v3_;
  v3_ = std::rotl(v3_, 16) ^ v2_;
  v0_ += v3_;
  v3_ = std::rotl(v3_, 21) ^ v0_;
  v2_ += v1_;
  v1_ = std::rotl(v1_, 17) ^ v2_;
  v2_ = std::rotl(v2_, 32);
}

}  // namespace realizar::kv
