#include "text/tokenizer/vocabulary.h"

#include <bit>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace realizar::text {
namespace {

uint64_t mix(uint64_t h, uint64_t word) {
  h = (h ^ word) * 0x9E3779B97F4A7C15u;
  return h ^ (h >> 29);
}

uint32_t hash_of(std::string_view s) {
  uint64_t h = s.size();
  const char* p = s.data();
  size_t left = s.size();
  for (; left >= 8; p += 8, left -= 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    h = mix(h, word);
  }
  if (left > 0) {
    uint64_t word = 0;
    std::memcpy(&word, p, left);
    h = mix(h, word);
  }
  return static_cast<uint32_t>(h >> 32);
}

StringTable table_of(std::span<const std::string_view> strings) {
  size_t n_bytes = 0;
  for (std::string_view s : strings) n_bytes += s.size();
  StringTable table;
  table.reserve(strings.size(), n_bytes);
  for (std::string_view s : strings) table.add(s);
  return table;
}

}  // namespace

StringIndex::StringIndex(const StringTable& table) : table_(&table), slots_(std::bit_ceil(2 * table.size() + 2)) {}

bool StringIndex::insert(int32_t i) {
  const std::string_view s = (*table_)[static_cast<size_t>(i)];
  if (s.empty()) return true;
  const uint32_t hash = hash_of(s);
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  for (; slots_[at].index >= 0; at = (at + 1) & mask) {
    if (slots_[at].hash == hash && (*table_)[static_cast<size_t>(slots_[at].index)] == s) return false;
  }
  slots_[at] = {hash, i};
  return true;
}

int32_t StringIndex::find(std::string_view s) const {
  if (s.empty()) return -1;
  const uint32_t hash = hash_of(s);
  const size_t mask = slots_.size() - 1;
  for (size_t at = hash & mask; slots_[at].index >= 0; at = (at + 1) & mask) {
    if (slots_[at].hash == hash && (*table_)[static_cast<size_t>(slots_[at].index)] == s) return slots_[at].index;
  }
  return -1;
}

Vocabulary::Vocabulary(std::span<const std::string_view> pieces, std::vector<TokenType> types)
    : pieces_(table_of(pieces)), types_(std::move(types)), index_(pieces_) {
  if (types_.empty()) types_.assign(pieces_.size(), TokenType::kNormal);
  REQUIRE(types_.size() == pieces_.size());
  for (int32_t i = 0; i < size(); ++i) {
    if (!index_.insert(i) && !duplicate_) duplicate_ = TokenId{i};
  }
}

std::optional<TokenId> Vocabulary::find(std::string_view piece) const {
  const int32_t i = index_.find(piece);
  if (i < 0) return std::nullopt;
  return TokenId{i};
}

}  // namespace realizar::text
