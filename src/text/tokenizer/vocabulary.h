// The pieces of a vocabulary in its own spelling, with their types, found by id and by spelling.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "realizar/types.h"
#include "text/tokenizer/string_table.h"
#include "text/tokenizer/tokenizer.h"

namespace realizar::text {

// Finds a string's index in a StringTable (open addressing; the table must outlive this). For equal strings, the first
// one added is found. Empty strings are not indexed.
class StringIndex {
 public:
  explicit StringIndex(const StringTable& table);
  // Returns false if an equal string exists (which then stays).
  bool insert(int32_t i);
  // -1 if absent.
  int32_t find(std::string_view s) const;

 private:
  struct Slot {
    uint32_t hash = 0;
    int32_t index = -1;
  };
  const StringTable* table_;
  std::vector<Slot> slots_;  // a power of two, at most half full
};

class Vocabulary {
 public:
  // `pieces[id]`; "" is a hole. `types` is empty (all normal) or one per piece.
  Vocabulary(std::span<const std::string_view> pieces, std::vector<TokenType> types);
  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;

  int32_t size() const { return static_cast<int32_t>(pieces_.size()); }
  bool contains(TokenId id) const { return to_index(id) >= 0 && to_index(id) < size(); }
  std::string_view piece(TokenId id) const { return pieces_[static_cast<size_t>(to_index(id))]; }
  TokenType type(TokenId id) const { return types_[static_cast<size_t>(to_index(id))]; }
  std::optional<TokenId> find(std::string_view piece) const;
  // The first piece that occurs twice, if there is one.
  std::optional<TokenId> duplicate() const { return duplicate_; }

 private:
  StringTable pieces_;
  std::vector<TokenType> types_;
  StringIndex index_;
  std::optional<TokenId> duplicate_;
};

}  // namespace realizar::text
