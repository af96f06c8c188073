#include "text/stop_matcher.h"

#include <algorithm>

namespace realizar::text {

StopMatcher::StopMatcher(std::span<const std::string> stop_strings) {
  for (const std::string& stop_string : stop_strings) insert(stop_string);
  link();
}

void StopMatcher::push(uint8_t byte) {
  state_ = next(state_, byte);
}

uint32_t StopMatcher::child(uint32_t node, uint8_t byte) const {
  for (const auto& [edge, target] : nodes_[node].children) {
    if (edge == byte) return target;
  }
  return kNone;
}

uint32_t StopMatcher::next(uint32_t node, uint8_t byte) const {
  while (true) {
    const uint32_t target = child(node, byte);
    if (target != kNone) return target;
    if (node == kRoot) return kRoot;
    node = nodes_[node].fallback;
  }
}

void StopMatcher::insert(const std::string& stop_string) {
  uint32_t node = kRoot;
  for (char c : stop_string) {
    const auto byte = static_cast<uint8_t>(c);
    uint32_t target = child(node, byte);
    if (target == kNone) {
      target = static_cast<uint32_t>(nodes_.size());
      const size_t depth = nodes_[node].depth + 1;
      nodes_[node].children.emplace_back(byte, target);
      nodes_.emplace_back().depth = depth;
    }
    node = target;
  }
  nodes_[node].n_matched = stop_string.size();
}

// Breadth first, so that a node's fallback, which is shorter, is complete before it is used.
void StopMatcher::link() {
  std::vector<uint32_t> queue{kRoot};
  for (size_t i = 0; i < queue.size(); ++i) {
    const uint32_t node = queue[i];
    for (const auto& [byte, target] : nodes_[node].children) {
      const uint32_t fallback = node == kRoot ? kRoot : next(nodes_[node].fallback, byte);
      nodes_[target].fallback = fallback;
      nodes_[target].n_matched = std::max(nodes_[target].n_matched, nodes_[fallback].n_matched);
      queue.push_back(target);
    }
  }
}

}  // namespace realizar::text
