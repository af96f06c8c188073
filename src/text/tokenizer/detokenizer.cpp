#include "text/tokenizer/detokenizer.h"

#include <algorithm>
#include <utility>

#include "text/utf8.h"

namespace realizar::text {
namespace {

// Stop strings are compared with text whose invalid bytes have become U+FFFD.
std::vector<std::string> make_valid(std::vector<std::string> strings) {
  for (std::string& s : strings) s = replace_invalid_utf8(s);
  return strings;
}

// Whether the invalid sequence `c` at the end of a text may be the beginning of a character.
bool is_beginning(std::string_view text, size_t at, const DecodedChar& c) {
  const auto lead = static_cast<uint8_t>(text[at]);
  return !c.valid && at + c.n_bytes == text.size() && lead >= 0xC2 && lead <= 0xF4;
}

}  // namespace

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

StreamingDetokenizer::StreamingDetokenizer(const Tokenizer& tokenizer, std::vector<std::string> stop_strings,
                                           DecodeOptions options, std::vector<TokenId> shown, uint32_t min_tokens)
    : tokenizer_(&tokenizer),
      options_(options),
      shown_(std::move(shown)),
      matcher_(make_valid(std::move(stop_strings))),
      n_unstoppable_(min_tokens) {}

StreamingDetokenizer::Output StreamingDetokenizer::push(TokenId id) {
  if (stopped_) return {"", true};
  const bool is_shown = std::find(shown_.begin(), shown_.end(), id) != shown_.end();
  const std::string bytes = tokenizer_->token_bytes(id, is_shown ? DecodeOptions{.skip_special = false} : options_);
  std::string_view added = bytes;
  if (at_start_ && !added.empty()) {
    if (tokenizer_->strips_leading_space() && added.front() == ' ') added.remove_prefix(1);
    at_start_ = false;
  }
  append_bytes(added);
  if (n_unstoppable_ > 0) --n_unstoppable_;
  if (stopped_) return {take(n_before_stop_), true};
  return {take(std::min(n_before_stop_, held_.size() - matcher_.n_open())), false};
}

StreamingDetokenizer::Output StreamingDetokenizer::finish(bool is_cut) {
  if (stopped_) return {"", true};
  if (is_cut) partial_.clear();
  if (!partial_.empty()) append_text(replace_invalid_utf8(std::exchange(partial_, {})));
  stopped_ = true;
  return {take(std::min(n_before_stop_, held_.size())), n_before_stop_ != kNoStop};
}

void StreamingDetokenizer::append_bytes(std::string_view bytes) {
  const std::string all = std::exchange(partial_, {}).append(bytes);
  std::string text;
  for (size_t at = 0; at < all.size();) {
    const DecodedChar c = decode_char(all, at);
    if (is_beginning(all, at, c)) {
      partial_ = all.substr(at);
      break;
    }
    append_utf8(text, c.valid ? c.code : kReplacementChar);
    at += c.n_bytes;
  }
  append_text(text);
}

void StreamingDetokenizer::append_text(std::string_view text) {
  for (char c : text) {
    if (stopped_) return;
    held_ += c;
    matcher_.push(static_cast<uint8_t>(c));
    if (matcher_.n_matched() > 0 && n_unstoppable_ == 0) note_stop(held_.size() - matcher_.n_matched());
    stopped_ = n_before_stop_ != kNoStop && held_.size() - matcher_.n_open() >= n_before_stop_;
  }
}

// Records a complete stop string that begins at `begin`.
void StreamingDetokenizer::note_stop(size_t begin) {
  if (begin >= n_before_stop_) return;
  n_before_stop_ = begin;
  stop_string_ = held_.substr(begin);
}

// Removes and returns the beginning of held_.
std::string StreamingDetokenizer::take(size_t n_bytes) {
  std::string text = held_.substr(0, n_bytes);
  held_.erase(0, n_bytes);
  n_given_ += text.size();
  if (n_before_stop_ != kNoStop) n_before_stop_ -= n_bytes;
  return text;
}

}  // namespace realizar::text
