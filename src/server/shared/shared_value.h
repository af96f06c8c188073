// A piece of a prefix as stored in Redis: the name by which servers find it, and its value, which is checked like a
// stranger's data. Pure.
//
// Names. SHA-256 is chained over a text's blocks, from a root that is the SHA-256 of everything that decides whether a
// piece can be used for a request: the fingerprint of program, weights and arithmetic, the sizes of pieces, the
// adapter, the digest of the API key, and the request's cache_salt. So no client can compute another's names or create
// two texts with one name. A piece's key in Redis is "realizar:", an identifier of the API key, so that all of its
// pieces can be removed, the chain at its block in hexadecimal, and its kind.
//
// A value contains "RZSHARE1", the fingerprint (u64), the chain at its block (32 bytes), its kind, the number of tokens
// (u32 each), the size of the piece and its stored size (u64 each), its coding (u32: 0 uncompressed, 1 zstd), a nonce
// (16 bytes) and zeros (u32); then the block's tokens (i32 each), the stored bytes, and a Poly1305 tag of all before it
// (16 bytes), whose one-time key is SHA-256 over the root, the nonce, the chain and the kind. Integers are
// little-endian. Redis never sees the root: if clients have API keys, it cannot create a value that is accepted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/cached_prefix.h"
#include "engine/engine.h"
#include "engine/text_pieces.h"
#include "realizar/types.h"
#include "server/http/auth.h"

namespace realizar::server {

using Sha256 = std::array<uint8_t, 32>;

// The names of a text's pieces.
class SharedNames {
 public:
  // The beginning of the names of all pieces of an API key; zeros: no key.
  static std::string beginning_of(const KeyDigest& key);

  // `tokens`: whole blocks of the shape. `cache_name`: the API key's digest and the request's cache_salt.
  SharedNames(const engine::PrefixShape& shape, const engine::Engine::PrefixSalt& salt, std::string_view cache_name,
              std::span<const TokenId> tokens);

  const Sha256& root() const { return root_; }
  const Sha256& chain_at(uint32_t block) const { return chain_[block]; }
  std::string key_of(const engine::PieceAt& piece) const;

 private:
  std::string beginning_;
  Sha256 root_;
  std::vector<Sha256> chain_;
};

// The engine and the text that a value must belong to.
struct SharedPiece {
  uint64_t fingerprint = 0;
  const Sha256* root = nullptr;
  const Sha256* chain = nullptr;
  uint32_t kind = 0;
  std::span<const TokenId> tokens;
};

// The maximum size of a value of a piece of n_bytes.
size_t max_value_bytes(size_t n_tokens, size_t n_bytes);

// zstd is used if a sample of the piece shrinks by a quarter or more. nullopt if OpenSSL cannot compute a tag.
std::optional<std::string> write_value(const SharedPiece& piece, std::span<const std::byte> bytes);

// Appends the tag to a value that lacks it. False: OpenSSL cannot compute it.
bool seal_value(std::string& value, const SharedPiece& piece);

// Fills `bytes` with the piece. False: it is not the value of that piece, and `bytes` is undefined.
bool read_value(std::string_view value, const SharedPiece& piece, std::span<std::byte> bytes);

}  // namespace realizar::server
