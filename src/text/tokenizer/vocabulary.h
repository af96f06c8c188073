// The pieces of a vocabulary in its own spelling, with their types, found by id and by spelling.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/types.h"
#include "text/tokenizer/tokenizer.h"

namespace realizar::text {

// Many short strings in one allocation, found by index.
class StringTable {
 public:
  void reserve(size_t n_strings, size_t n_bytes) {
    ends_.reserve(n_strings);
    bytes_.reserve(n_bytes);
  }
  void add(std::string_view s) {
    bytes_.append(s);
    ends_.push_back(bytes_.size());
  }
  size_t size() const { return ends_.size(); }
  // Valid until the next add().
  std::string_view operator[](size_t i) const {
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(bytes_).substr(begin, ends_[i] - begin);
  }

 private:
  std::string bytes_;
  std::vector<size_t> ends_;  // ends_[i] is one past string i in bytes_
};

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
