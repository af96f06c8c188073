// A map from byte strings to numbers, walked byte by byte.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace realizar::text {

class ByteTrie {
 public:
  struct Entry {
    std::string_view key;  // not empty; read during construction only
    int32_t value;         // 0 or more
  };
  static constexpr int32_t kNone = -1;

  ByteTrie() = default;
  // For equal keys, the first one wins.
  explicit ByteTrie(std::vector<Entry> entries);

  static constexpr int32_t kRoot = 0;
  // The node after `byte`, or kNone.
  int32_t step(int32_t node, uint8_t byte) const;
  // The value of the key that ends at `node`, or kNone.
  int32_t value(int32_t node) const { return nodes_[static_cast<size_t>(node)].value; }

 private:
  struct Node {
    uint32_t first_child = 0;  // children are adjacent, sorted by byte
    uint16_t n_children = 0;
    uint8_t byte = 0;  // that leads to this node
    int32_t value = kNone;
  };
  std::vector<Node> nodes_ = {Node{}};
};

}  // namespace realizar::text
