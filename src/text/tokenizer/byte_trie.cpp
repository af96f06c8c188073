#include "text/tokenizer/byte_trie.h"

#include <algorithm>
#include <span>

namespace realizar::text {

// Built breadth first, so that a node's children are adjacent. Each queue entry is a node with the entries below it.
ByteTrie::ByteTrie(std::vector<Entry> entries) {
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.key < b.key; });
  struct Pending {
    std::span<const Entry> entries;
    size_t depth;
  };
  std::vector<Pending> pending = {{entries, 0}};
  for (size_t i = 0; i < pending.size(); ++i) {
    std::span<const Entry> rest = pending[i].entries;
    const size_t depth = pending[i].depth;
    while (!rest.empty() && rest[0].key.size() == depth) {
      if (nodes_[i].value == kNone) nodes_[i].value = rest[0].value;
      rest = rest.subspan(1);
    }
    nodes_[i].first_child = static_cast<uint32_t>(nodes_.size());
    while (!rest.empty()) {
      const char byte = rest[0].key[depth];
      const auto differs = [&](const Entry& e) { return e.key[depth] != byte; };
      const auto n = static_cast<size_t>(std::find_if(rest.begin(), rest.end(), differs) - rest.begin());
      nodes_.emplace_back().byte = static_cast<uint8_t>(byte);
      pending.push_back({rest.first(n), depth + 1});
      rest = rest.subspan(n);
      ++nodes_[i].n_children;
    }
  }
}

int32_t ByteTrie::step(int32_t node, uint8_t byte) const {
  const Node* begin = nodes_.data() + nodes_[static_cast<size_t>(node)].first_child;
  const Node* end = begin + nodes_[static_cast<size_t>(node)].n_children;
  const Node* child = std::lower_bound(begin, end, byte, [](const Node& n, uint8_t b) { return n.byte < b; });
  return child != end && child->byte == byte ? static_cast<int32_t>(child - nodes_.data()) : kNone;
}

}  // namespace realizar::text
