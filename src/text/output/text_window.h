// The received text that is not parsed yet, and the part taken since the last commit, which can still be given back.
// Every decision depends only on the bytes, never on how they were split into pieces: if more bytes could change an
// answer, it is kOpen.
#pragma once

#include <string>
#include <string_view>

namespace realizar::text {

class TextWindow {
 public:
  enum class Match { kNo, kYes, kOpen /* more text decides */ };
  // Limit for the search of names and headers.
  static constexpr size_t kMaxHeaderBytes = 512;

  void append(std::string_view text);
  // No more text follows: nothing is kOpen any more.
  void end() { ended_ = true; }
  bool ended() const { return ended_; }

  bool empty() const { return begin_ == text_.size(); }
  char front() const { return text_[begin_]; }
  std::string_view rest() const { return std::string_view(text_).substr(begin_); }

  // Whether `literal` is at `offset` <= rest().size().
  Match match(std::string_view literal, size_t offset = 0) const;
  // Whether `literal`, or any byte of `bytes`, is within the next kMaxHeaderBytes; `offset` is its position.
  Match find(std::string_view literal, size_t& offset) const;
  Match find_any(std::string_view bytes, size_t& offset) const;

  void take(size_t n_bytes);
  // Takes `literal`, if it is next.
  Match take(std::string_view literal);
  // Takes white space; true if other text follows.
  bool skip_space();
  // The text taken so far is parsed and will not be given back.
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
