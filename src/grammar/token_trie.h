// The bytes of every token of a vocabulary as a prefix trie in depth-first order: a node's subtree is the run of nodes
// after it. Made once per model; immutable, any thread may read it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/types.h"

namespace realizar::grammar {

class TokenTrie {
 public:
  // token_bytes[id]; "" for tokens that do not occur in text (control tokens). Tokens above kMaxTokenBytes are treated
  // in the same way.
  explicit TokenTrie(std::span<const std::string> token_bytes);

  static constexpr size_t kMaxTokenBytes = 1024;

  struct Node {
    uint32_t end = 0;         // index of the first node after the subtree
    uint32_t tokens_end = 0;  // its tokens end here, and begin at the previous node's end
    uint16_t depth = 0;       // in bytes from the root, 1 for its children
    uint8_t byte = 0;
  };

  uint32_t n_vocab() const { return static_cast<uint32_t>(begins_.size() - 1); }
  size_t mask_words() const { return (n_vocab() + 63) / 64; }
  std::string_view bytes(TokenId id) const;  // "" for an id outside the vocabulary
  uint32_t max_token_bytes() const { return max_token_bytes_; }

  // Without the root.
  std::span<const Node> nodes() const { return nodes_; }
  // The tokens that end at a node; usually none or one.
  std::span<const TokenId> tokens_at(uint32_t node) const {
    const uint32_t begin = node == 0 ? 0 : nodes_[node - 1].tokens_end;
    return std::span(tokens_).subspan(begin, nodes_[node].tokens_end - begin);
  }

 private:
  std::string text_;              // of all tokens
  std::vector<uint32_t> begins_;  // [n_vocab + 1] into text_
  uint32_t max_token_bytes_ = 0;
  std::vector<Node> nodes_;
  std::vector<TokenId> tokens_;  // sorted by their bytes
};

}  // namespace realizar::grammar
