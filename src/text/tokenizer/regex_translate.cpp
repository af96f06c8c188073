// Oniguruma's Ruby syntax to PCRE2's: the constructs that tokenizers use and that differ.
#include "base/printable.h"
#include "base/try.h"
#include "text/tokenizer/regex.h"

namespace realizar::text {
namespace {

// \s is the property White_Space; PCRE2's also includes U+180E.
constexpr std::string_view kWhiteSpace = "\\p{Z}\\x{09}-\\x{0D}\\x{85}";
// \w: PCRE2 10.42 omits the marks and the connectors other than _, and includes all numbers.
constexpr std::string_view kWord = "\\p{L}\\p{M}\\p{Nd}\\p{Pc}";
constexpr std::string_view kHexDigit = "0-9a-fA-F";

class Translator {
 public:
  explicit Translator(std::string_view pattern) : in_(pattern) {}

  Result<std::string> run() {
    while (at_ < in_.size()) {
      if (in_[at_] == '\\') {
        out_ += outside_escape();
      } else if (in_[at_] == '[') {
        RZ_TRY(const std::string set, character_class());
        out_ += set;
      } else {
        out_ += in_[at_++];
      }
    }
    return std::move(out_);
  }

 private:
  // The content of the class for an escape that means a set of characters; "" for any other escape.
  static std::string_view set_of(char c) {
    return c == 's' ? kWhiteSpace : c == 'w' ? kWord : c == 'h' ? kHexDigit : std::string_view();
  }

  // \uHHHH becomes \x{HHHH}; any other escape stays.
  std::string plain_escape() {
    if (in_.substr(at_).starts_with("\\u") && at_ + 6 <= in_.size()) {
      std::string code = "\\x{" + std::string(in_.substr(at_ + 2, 4)) + "}";
      at_ += 6;
      return code;
    }
    const std::string escape(in_.substr(at_, 2));
    at_ += 2;
    return escape;
  }

  std::string outside_escape() {
    const char c = at_ + 1 < in_.size() ? in_[at_ + 1] : '\0';
    const bool negated = c == 'S' || c == 'W' || c == 'H';
    const std::string_view set = set_of(negated ? static_cast<char>(c - 'A' + 'a') : c);
    if (set.empty()) return plain_escape();
    at_ += 2;
    std::string out = negated ? "[^" : "[";
    return out.append(set).append("]");
  }

  std::string inside_escape() {
    const std::string_view set = set_of(at_ + 1 < in_.size() ? in_[at_ + 1] : '\0');
    if (set.empty()) return plain_escape();
    at_ += 2;
    return std::string(set);
  }

  // [A&&[B]] becomes (?:(?=[B])[A]). Any other class inside a class is joined with it.
  Result<std::string> character_class() {
    if (++depth_ > 8) return unsupported("regular expression '" + shown(in_) + "': classes nested too deep");
    std::string members = "[";
    std::string conditions;
    ++at_;
    if (at_ < in_.size() && in_[at_] == '^') members += in_[at_++];
    const bool negated = members.size() == 2;
    bool first = true;
    for (; at_ < in_.size() && (in_[at_] != ']' || first); first = false) {
      const std::string_view rest = in_.substr(at_);
      if (rest.starts_with("&&[")) {
        at_ += 2;
        RZ_TRY(std::string other, character_class());
        if (negated) return unsupported("regular expression '" + shown(in_) + "': [^...&&...] is not built");
        conditions += "(?=" + other + ")";
      } else if (rest.starts_with("[:")) {
        const size_t end = in_.find(":]", at_);
        if (end == std::string_view::npos) return format_error("regular expression: [: without :]");
        members += in_.substr(at_, end + 2 - at_);
        at_ = end + 2;
      } else if (rest[0] == '[') {
        RZ_TRY(const std::string other, class_in_class());
        members += other;
      } else if (rest[0] == '\\') {
        members += inside_escape();
      } else {
        members += in_[at_++];
      }
    }
    if (at_ >= in_.size()) return format_error("regular expression '" + shown(in_) + "': [ without ]");
    ++at_;
    --depth_;
    members += "]";
    return conditions.empty() ? members : "(?:" + conditions + members + ")";
  }

  // The members of a class inside another one.
  Result<std::string> class_in_class() {
    auto other = character_class();
    if (!other.ok()) return other;
    const std::string_view set = *other;
    if (set.size() < 2 || set[0] != '[' || set[1] == '^') {
      return unsupported("regular expression '" + shown(in_) + "': a negated class in a class is not built");
    }
    return std::string(set.substr(1, set.size() - 2));
  }

  std::string_view in_;
  size_t at_ = 0;
  int depth_ = 0;
  std::string out_;
};

}  // namespace

Result<std::string> translate_regex(std::string_view pattern) {
  return Translator(pattern).run();
}

}  // namespace realizar::text
