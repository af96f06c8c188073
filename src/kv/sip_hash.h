// SipHash-2-4 (Aumasson and Bernstein 2012): a keyed hash. Without the key, nobody can predict its values or find two
// inputs with the same value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace realizar::kv {

using HashKey = std::array<uint64_t, 2>;

// A key of random numbers from the kernel.
HashKey random_hash_key();

// Takes whole words, then bytes: the hash covers all of them in order, words as little-endian.
class SipHash {
 public:
  explicit SipHash(const HashKey& key);

  void take(uint64_t word);
  uint64_t finish(std::span<const std::byte> bytes);

 private:
  void round();

  uint64_t v0_, v1_, v2_, v3_;
  uint64_t n_bytes_ = 0;
};

}  // namespace realizar::kv
