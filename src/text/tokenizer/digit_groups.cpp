#include "text/tokenizer/digit_groups.h"

#include <utility>

#include "text/unicode.h"
#include "text/utf8.h"

namespace realizar::text {
namespace {

class GroupingPreTokenizer final : public PreTokenizer {
 public:
  explicit GroupingPreTokenizer(DigitGroups kind) : kind_(kind) {}

  void apply(Pieces& pieces) const override {
    std::vector<TextRange> parts;
    for (const TextRange& range : pieces.ranges) {
      const std::string_view piece = std::string_view(pieces.text).substr(range.begin, range.end - range.begin);
      size_t done = 0;
      for (size_t cut : cuts_of(piece)) {
        if (cut <= done || cut >= piece.size()) continue;
        parts.push_back({range.begin + done, range.begin + cut});
        done = cut;
      }
      parts.push_back({range.begin + done, range.end});
    }
    pieces.ranges = std::move(parts);
  }

 private:
  std::vector<size_t> cuts_of(std::string_view piece) const {
    std::vector<size_t> cuts;
    std::vector<size_t> digits;  // positions of the current number's digits
    for (size_t at = 0; at < piece.size();) {
      const DecodedChar c = decode_char(piece, at);
      if (is_decimal_digit(c.code)) {
        digits.push_back(at);
      } else if (!digits.empty()) {
        cut_number(digits, at, is_word_char(c.code), cuts);
        digits.clear();
      }
      at += c.n_bytes;
    }
    if (!digits.empty()) cut_number(digits, piece.size(), false, cuts);
    return cuts;
  }

  void cut_number(const std::vector<size_t>& digits, size_t end, bool word_goes_on, std::vector<size_t>& cuts) const {
    if (kind_ == DigitGroups::kIsolated) {
      if (word_goes_on) return;
      cuts.push_back(digits[0]);
    }
    for (size_t i = digits.size() % 3; i < digits.size(); i += 3) cuts.push_back(digits[i]);
    if (kind_ == DigitGroups::kIsolated) cuts.push_back(end);
  }

  DigitGroups kind_;
};

}  // namespace

std::unique_ptr<PreTokenizer> make_digit_groups(DigitGroups kind) {
  return std::make_unique<GroupingPreTokenizer>(kind);
}

}  // namespace realizar::text
