// Converts token ids to text while they arrive. Outputs only whole UTF-8 characters, and never a piece of text that may
// be the beginning of a stop string. One per sequence; not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "realizar/types.h"
#include "text/tokenizer/tokenizer.h"

namespace realizar::text {

// Finds stop strings in a text that arrives in pieces (Aho and Corasick 1975): constant work per byte on average, and
// the length of the text's end that may become a stop string is always known.
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

class StreamingDetokenizer {
 public:
  // `tokenizer` must outlive this. Empty stop strings are ignored. Among several stop strings the one that begins
  // earliest in the text ends it, so a complete one waits while another that began before it may still be completed.
  // `shown`: control tokens that are output as text even if the options skip them. `min_tokens`: a stop string that is
  // complete within this many tokens is ordinary text.
  StreamingDetokenizer(const Tokenizer& tokenizer, std::vector<std::string> stop_strings, DecodeOptions options = {},
                       std::vector<TokenId> shown = {}, uint32_t min_tokens = 0);

  struct Output {
    std::string text;      // the text that is certain now; may be empty
    bool stopped = false;  // a stop string is complete; text ends just before it, and nothing follows
  };
  Output push(TokenId id);
  // The text held back, at the end of the generation. Incomplete UTF-8 becomes U+FFFD, or is dropped if a limit cut the
  // text (`is_cut`).
  Output finish(bool is_cut = false);

  // The stop string that ended the text; "": none.
  const std::string& stop_string() const { return stop_string_; }

  // Bytes of text that were output and that were made, and whether some text or part of a character is waiting.
  size_t n_given_bytes() const { return n_given_; }
  size_t n_text_bytes() const { return n_given_ + held_.size(); }
  bool holds_back() const { return !held_.empty() || !partial_.empty(); }

 private:
  void append_bytes(std::string_view bytes);
  void append_text(std::string_view text);
  void note_stop(size_t begin);
  std::string take(size_t n_bytes);

  const Tokenizer* tokenizer_;
  DecodeOptions options_;
  std::vector<TokenId> shown_;
  StopMatcher matcher_;
  uint32_t n_unstoppable_;          // remaining tokens during which no stop string ends the text
  std::string partial_;             // the beginning of a character whose other bytes have not arrived; at most 3 bytes
  std::string held_;                // whole characters not yet output
  size_t n_before_stop_ = kNoStop;  // length of held_ before the earliest complete stop string
  std::string stop_string_;
  size_t n_given_ = 0;
  bool at_start_ = true;
  bool stopped_ = false;

  static constexpr size_t kNoStop = static_cast<size_t>(-1);
};

}  // namespace realizar::text
