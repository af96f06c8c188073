// Any bytes as a Redis's output: as replies, cut anywhere, in which each text is read as a value of a shared prefix;
// and as a value with a correct tag, so that the code after the tag is reached too. The first byte determines the cuts.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "server/shared/redis_reply.h"
#include "server/shared/shared_value.h"

namespace {

using namespace realizar;
using namespace realizar::server;

constexpr size_t kPieceBytes = 64, kHeadBytes = 96, kBytesAt = 56, kStoredAt = 64, kMaxItems = 8;

struct Piece {
  Piece() { chain.fill(1), root.fill(2); }
  SharedPiece get() const { return {1, &root, &chain, 0, tokens}; }
  Sha256 root{}, chain{};
  std::vector<TokenId> tokens = {TokenId{1}, TokenId{2}, TokenId{3}, TokenId{4}};
};

void read(std::string_view value, const Piece& piece) {
  std::vector<std::byte> bytes(kPieceBytes);
  if (!read_value(value, piece.get(), bytes)) return;
  const auto again = write_value(piece.get(), bytes);
  std::vector<std::byte> other(kPieceBytes);
  if (!again || !read_value(*again, piece.get(), other) || other != bytes) std::abort();
}

size_t n_texts(const RedisReply& reply, const Piece& piece) {
  if (reply.list.size() > kMaxItems) std::abort();
  size_t n = reply.kind == RedisReply::Kind::kText ? 1 : 0;
  if (n > 0) read(reply.text, piece);
  for (const RedisReply& item : reply.list) n += n_texts(item, piece);
  return n;
}

size_t read_replies(std::string_view text, size_t cut, const Piece& piece) {
  RedisReader reader;
  reader.set_bounds({text.size(), kMaxItems});
  size_t n = 0;
  for (size_t at = 0; at < text.size(); at += cut) {
    const auto part = text.substr(at, cut);
    if (!reader.feed({part.data(), part.size()}).ok()) std::abort();
    while (true) {
      const auto reply = reader.next();
      if (!reply.ok()) return n;
      if (!*reply) break;
      n += n_texts(**reply, piece);
    }
  }
  return n;
}

// A value with these bytes after its head's fixed parts, correct sizes, and a tag.
void read_sealed(std::string_view text, const Piece& piece) {
  const auto whole = write_value(piece.get(), std::vector<std::byte>(kPieceBytes));
  if (!whole) std::abort();
  std::string value = whole->substr(0, kHeadBytes + piece.tokens.size() * sizeof(TokenId));
  const auto put = [&](size_t at, uint64_t number) {
    value.replace(at, sizeof number, reinterpret_cast<const char*>(&number), sizeof number);
  };
  put(kBytesAt, kPieceBytes);
  put(kStoredAt, text.size());
  value += text;
  if (!seal_value(value, piece.get())) std::abort();
  read(value, piece);
  value.resize(value.size() - 16);
  std::copy_n(text.begin(), std::min(text.size(), kHeadBytes), value.begin());
  if (!seal_value(value, piece.get())) std::abort();
  read(value, piece);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Piece piece;
  if (size < 2) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  const size_t n = read_replies(text, text.size(), piece);
  if (read_replies(text, size_t{data[0]} + 1, piece) != n) std::abort();
  read(text, piece);
  read_sealed(text, piece);
  return 0;
}
