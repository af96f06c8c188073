#include "text/tokenizer/pattern.h"

#include <algorithm>
#include <utility>

#include "text/utf8.h"

namespace realizar::text {
namespace {

class RegexPattern final : public Pattern {
 public:
  explicit RegexPattern(Regex regex) : regex_(std::move(regex)) {}
  std::optional<TextRange> find(std::string_view subject, size_t from) const override {
    return regex_.find(subject, from);
  }

 private:
  Regex regex_;
};

class StringPattern final : public Pattern {
 public:
  explicit StringPattern(std::string wanted) : wanted_(std::move(wanted)) {}
  std::optional<TextRange> find(std::string_view subject, size_t from) const override {
    const size_t at = wanted_.empty() ? std::string_view::npos : subject.find(wanted_, from);
    if (at == std::string_view::npos) return std::nullopt;
    return TextRange{at, at + wanted_.size()};
  }

 private:
  std::string wanted_;
};

class CharPattern final : public Pattern {
 public:
  explicit CharPattern(CharPredicate predicate) : predicate_(predicate) {}
  std::optional<TextRange> find(std::string_view subject, size_t from) const override {
    while (from < subject.size()) {
      const DecodedChar c = decode_char(subject, from);
      if (predicate_(c.code)) return TextRange{from, from + c.n_bytes};
      from += c.n_bytes;
    }
    return std::nullopt;
  }

 private:
  CharPredicate predicate_;
};

struct Part {
  TextRange range;
  bool is_match = false;
};

// Takes the parts from left to right and joins them according to the behavior. An empty part only separates.
class Joiner {
 public:
  Joiner(SplitBehavior behavior, size_t base, std::vector<TextRange>& out)
      : behavior_(behavior), base_(base), out_(out) {}

  void add(Part part) {
    if (has_pending_ && joins(pending_, part)) {
      pending_.range.end = part.range.end;
    } else {
      flush();
      pending_ = part;
      has_pending_ = true;
    }
    // In a run of matches, only one delimiter is joined with its neighbour.
    previous_was_match_ = part.is_match;
    pending_.is_match = part.is_match;
  }

  void flush() {
    if (has_pending_ && pending_.range.begin < pending_.range.end &&
        !(behavior_ == SplitBehavior::kRemoved && pending_.is_match)) {
      out_.push_back({base_ + pending_.range.begin, base_ + pending_.range.end});
    }
    has_pending_ = false;
  }

 private:
  bool joins(const Part& left, const Part& right) const {
    switch (behavior_) {
      case SplitBehavior::kContiguous:
        return left.is_match == right.is_match;
      case SplitBehavior::kMergedWithPrevious:
        return right.is_match && !previous_was_match_;
      case SplitBehavior::kMergedWithNext:
        return left.is_match && !right.is_match;
      default:
        return false;
    }
  }

  SplitBehavior behavior_;
  size_t base_;
  std::vector<TextRange>& out_;
  Part pending_;
  bool has_pending_ = false;
  bool previous_was_match_ = false;
};

size_t next_char(std::string_view subject, size_t at) {
  return at < subject.size() ? at + decode_char(subject, at).n_bytes : at + 1;
}

}  // namespace

std::unique_ptr<Pattern> make_regex_pattern(Regex regex) {
  return std::make_unique<RegexPattern>(std::move(regex));
}
std::unique_ptr<Pattern> make_string_pattern(std::string wanted) {
  return std::make_unique<StringPattern>(std::move(wanted));
}
std::unique_ptr<Pattern> make_char_pattern(CharPredicate predicate) {
  return std::make_unique<CharPattern>(predicate);
}

void split_text(std::string_view subject, const Pattern& pattern, SplitBehavior behavior, bool invert, size_t base,
                std::vector<TextRange>& out) {
  Joiner joiner(behavior, base, out);
  size_t done = 0;
  for (size_t from = 0; from <= subject.size();) {
    const std::optional<TextRange> match = pattern.find(subject, from);
    if (!match) break;
    if (done < match->begin) joiner.add({{done, match->begin}, invert});
    joiner.add({*match, !invert});
    done = match->end;
    from = match->begin < match->end ? match->end : next_char(subject, match->end);
  }
  if (done < subject.size()) joiner.add({{done, subject.size()}, invert});
  joiner.flush();
}

}  // namespace realizar::text
