// Tokens that are cut out of a text before any other processing: control tokens and user-defined words.
// One linear scan, leftmost-longest, with the word and whitespace rules of Hugging Face's tokenizers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/types.h"
#include "text/tokenizer/byte_trie.h"

namespace realizar::text {

struct AddedToken {
  TokenId id = kNoToken;
  std::string content;
  bool special = false;      // a control token: never recognized in input text
  bool single_word = false;  // only if no word character is adjacent
  bool lstrip = false;       // includes the white space before it
  bool rstrip = false;       // includes the white space after it
  bool normalized = false;   // searched in the normalized text instead of the original
};

// A range of text, in bytes, end exclusive.
struct TextRange {
  size_t begin = 0;
  size_t end = 0;
};

class AddedTokenMatcher {
 public:
  AddedTokenMatcher() = default;
  explicit AddedTokenMatcher(std::vector<AddedToken> tokens);

  bool empty() const { return tokens_.empty(); }
  bool has_special() const { return has_special_; }

  struct Segment {
    TextRange range;
    TokenId id = kNoToken;  // kNoToken: ordinary text
  };
  // Appends `text`, split at the tokens found, to `out`; ordinary segments are not empty. Special tokens are recognized
  // only if they lie wholly inside one of `special_ranges` (ordered, disjoint).
  void split(std::string_view text, std::span<const TextRange> special_ranges, std::vector<Segment>& out) const;

 private:
  struct Match {
    const AddedToken* token = nullptr;
    size_t end = 0;
  };
  Match longest_at(std::string_view text, size_t begin, size_t special_end) const;

  std::vector<AddedToken> tokens_;
  ByteTrie trie_;          // of their contents, with the index in tokens_
  bool starts_[256] = {};  // first bytes of all tokens
  bool has_special_ = false;
};

}  // namespace realizar::text
