#include "grammar/token_trie.h"

#include <algorithm>

namespace realizar::grammar {

TokenTrie::TokenTrie(std::span<const std::string> token_bytes) {
  begins_.push_back(0);
  for (size_t id = 0; id < token_bytes.size(); ++id) {
    const std::string& own = token_bytes[id];
    if (own.size() <= kMaxTokenBytes) {
      text_ += own;
      max_token_bytes_ = std::max(max_token_bytes_, static_cast<uint32_t>(own.size()));
      if (!own.empty()) tokens_.push_back(TokenId{static_cast<int32_t>(id)});
    }
    begins_.push_back(static_cast<uint32_t>(text_.size()));
  }
  std::ranges::stable_sort(tokens_, {}, [this](TokenId id) { return bytes(id); });

  std::vector<uint32_t> path;  // from the root to the last token's end
  std::string_view previous;
  for (uint32_t i = 0; i < tokens_.size(); ++i) {
    const std::string_view own = bytes(tokens_[i]);
    const auto differs = std::ranges::mismatch(own, previous);
    const auto n_shared = static_cast<size_t>(differs.in1 - own.begin());
    for (; path.size() > n_shared; path.pop_back()) nodes_[path.back()].end = static_cast<uint32_t>(nodes_.size());
    for (size_t at = n_shared; at < own.size(); ++at) {
      path.push_back(static_cast<uint32_t>(nodes_.size()));
      nodes_.push_back({0, i, static_cast<uint16_t>(at + 1), static_cast<uint8_t>(own[at])});
    }
    nodes_.back().tokens_end = i + 1;
    previous = own;
  }
  for (const uint32_t node : path) nodes_[node].end = static_cast<uint32_t>(nodes_.size());
}

std::string_view TokenTrie::bytes(TokenId id) const {
  const auto i = static_cast<size_t>(to_index(id));
  if (to_index(id) < 0 || i + 1 >= begins_.size()) return {};
  return std::string_view(text_).substr(begins_[i], begins_[i + 1] - begins_[i]);
}

}  // namespace realizar::grammar
