// Finds stop strings in a text that arrives in pieces (Aho and Corasick 1975): constant work per byte on average, and
// the length of the text's end that may become a stop string is always known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace realizar::text {

class StopMatcher {
 public:
  // Empty strings are ignored.
  explicit StopMatcher(std::span<const std::string> stop_strings);

  void push(uint8_t byte);
  // The length of the longest end of the text that begins a stop string (or is one).
  size_t n_open() const { return nodes_[state_].depth; }
  // The length of the longest stop string that ends here; 0 if there is none.
  size_t n_matched() const { return nodes_[state_].n_matched; }

 private:
  struct Node {
    std::vector<std::pair<uint8_t, uint32_t>> children;
    uint32_t fallback = 0;  // the longest proper end of this node's string that is itself a node
    size_t depth = 0;
    size_t n_matched = 0;
  };
  static constexpr uint32_t kRoot = 0;
  static constexpr uint32_t kNone = 0xFFFFFFFF;

  uint32_t child(uint32_t node, uint8_t byte) const;
  uint32_t next(uint32_t node, uint8_t byte) const;
  void insert(const std::string& stop_string);
  void link();

  std::vector<Node> nodes_{1};
  uint32_t state_ = kRoot;
};

}  // namespace realizar::text
