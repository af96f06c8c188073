// The text that has come and is not yet understood, and what was taken of it since the last commit, which can still be
// given back. Every decision depends on the bytes alone, never on how they were cut into pieces: where more bytes
// could change an answer, it is kOpen.
#pragma once

#include <string>
#include <string_view>

namespace realizar::text {

class TextWindow {
 public:
  enum class Match { kNo, kYes, kOpen /* more text decides */ };
  // Names and headers are looked for within this many bytes.
  static constexpr size_t kMaxHeaderBytes = 512;

  void append(std::string_view text);
  // No more text comes: nothing is kOpen any more.
  void end() { ended_ = true; }
  bool ended() const { return ended_; }

  bool empty() const { return begin_ == text_.size(); }
  char front() const { return text_[begin_]; }
  std::string_view rest() const { return std::string_view(text_).substr(begin_); }

  // Whether `literal` stands at `offset` <= rest().size().
  Match match(std::string_view literal, size_t offset = 0) const;
  // Whether `literal`, or any byte of `bytes`, stands within the next kMaxHeaderBytes; then `offset` is where.
  Match find(std::string_view literal, size_t& offset) const;
  Match find_any(std::string_view bytes, size_t& offset) const;

  void take(size_t n_bytes);
  // Takes `literal`, if it stands here.
  Match take(std::string_view literal);
  // Takes white space; true if other text follows.
  bool skip_space();
  // What was taken so far is understood and will not be given back.
  void commit() { taken_.clear(); }
  std::string give_back();
  // The text that would be given back.
  std::string_view taken() const { return taken_; }

 private:
  Match found(size_t at, size_t literal_bytes, size_t& offset) const;

  std::string text_;
  size_t begin_ = 0;  // how much of text_ was taken
  std::string taken_;
  bool ended_ = false;
};

}  // namespace realizar::text
