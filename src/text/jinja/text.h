// The strings of a template's run, and the account of its work.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace realizar::text::jinja {

// The cost of a template's run so far: every comparison, every byte that is copied or searched. Code counts its work
// before doing it; the run on this thread ends with TemplateError once it exceeds what any honest template needs.

// The account of one run, active on this thread while it exists; runs may nest, and an inner one is limited to the rest
// of the outer one.
class Work {
 public:
  explicit Work(uint64_t max_ticks);
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  ~Work();

 private:
  friend void count_work(size_t n_ticks);
  uint64_t n_left_;
  Work* outer_;
};

inline constexpr size_t kMaxSteps = 4'000'000;  // expressions, statements and items in a run
inline constexpr size_t kTicksAStep = 64;

// A tick is about one copied byte; throws if the account is exhausted. Outside of runs nothing is counted.
void count_work(size_t n_ticks);
void count_steps(size_t n_steps);

// A string that records for each byte whether it came from the template or from a user's input. While all of it has the
// same origin the marks cost nothing; only mixed text stores them.
class Text {
 public:
  Text() = default;
  Text(std::string bytes, bool is_input = false) : bytes_(std::move(bytes)), is_input_(is_input) {}
  Text(const char* bytes) : bytes_(bytes) {}

  const std::string& str() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  // Whether any byte of it is input.
  bool has_input() const { return is_input_ || marks_.find('\1') != std::string::npos; }
  bool is_input_at(size_t i) const { return marks_.empty() ? is_input_ : marks_[i] != '\0'; }

  void append(const Text& other);
  // Bytes [begin, begin + n), with their origins.
  Text substr(size_t begin, size_t n = std::string::npos) const;
  // Other bytes with the same origin; input if this is mixed.
  Text with_bytes(std::string bytes) const { return Text(std::move(bytes), has_input()); }

 private:
  std::string bytes_;
  bool is_input_ = false;
  std::string marks_;  // empty, or one mark per byte: 1 for input
};

inline void Text::append(const Text& other) {
  if (other.empty()) return;
  count_work(other.size());
  if (empty()) {
    *this = other;
    return;
  }
  const bool is_uniform = marks_.empty() && other.marks_.empty() && is_input_ == other.is_input_;
  if (!is_uniform) {
    if (marks_.empty()) marks_.assign(bytes_.size(), is_input_ ? '\1' : '\0');
    marks_ += other.marks_.empty() ? std::string(other.size(), other.is_input_ ? '\1' : '\0') : other.marks_;
    is_input_ = false;
  }
  bytes_ += other.bytes_;
}

inline Text Text::substr(size_t begin, size_t n) const {
  count_work(std::min(n, size() - begin));
  Text part(bytes_.substr(begin, n), is_input_);
  if (!marks_.empty()) part.marks_ = marks_.substr(begin, n);
  return part;
}

}  // namespace realizar::text::jinja
