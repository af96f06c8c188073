#include "api/reasoning_budget.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/tokenizer/tokenizer.h"

namespace realizar {
namespace {

// How many bytes of `mark`, but not all, the text ends with.
size_t n_begun(std::string_view text, std::string_view mark) {
  size_t n_bytes = std::min(text.size(), mark.size() - 1);
  while (n_bytes > 0 && !text.ends_with(mark.substr(0, n_bytes))) --n_bytes;
  return n_bytes;
}

class BudgetConstraint final : public TokenConstraint {
 public:
  BudgetConstraint(std::shared_ptr<TokenConstraint> inner, text::ReasoningMarks marks, const text::Tokenizer& tokenizer,
                   ReasoningBudget budget)
      : inner_(std::move(inner)), marks_(std::move(marks)), tokenizer_(&tokenizer), n_left_(budget.n_tokens) {
    if (budget.starts_in_reasoning) enter_reasoning();
  }

  bool allow(std::span<uint64_t> allowed) override {
    if (place_ == Place::kClosing) {
      std::fill(allowed.begin(), allowed.end(), uint64_t{0});
      const TokenId next = closing_[n_closed_];
      if (word_of(next) < allowed.size()) allowed[word_of(next)] = bit_of(next);
      return true;
    }
    const bool inner_binds = inner_ != nullptr && inner_->allow(allowed);
    const bool is_forbidden = has_just_closed_ && not_after_close_ && word_of(*not_after_close_) < allowed.size();
    if (!is_forbidden) return inner_binds;
    if (!inner_binds) std::fill(allowed.begin(), allowed.end(), ~uint64_t{0});
    allowed[word_of(*not_after_close_)] &= ~bit_of(*not_after_close_);
    return true;
  }

  Readiness prepare(uint64_t& n_work) override {
    return inner_ != nullptr ? inner_->prepare(n_work) : Readiness::kReady;
  }

  void accept(TokenId id) override {
    if (inner_ != nullptr) inner_->accept(id);
    has_just_closed_ = false;
    if (place_ == Place::kAfter) return;
    if (place_ == Place::kClosing) return note_closed();
    tail_ += tokenizer_->token_bytes(id, {.skip_special = false});
    if (place_ == Place::kBefore) {
      look_for_begin();
    } else {
      count();
    }
  }

  std::shared_ptr<TokenConstraint> clone() const override {
    auto copy = std::make_shared<BudgetConstraint>(*this);
    if (inner_ != nullptr) copy->inner_ = inner_->clone();
    return copy;
  }

 private:
  enum class Place { kBefore, kReasoning, kClosing, kAfter };
  static constexpr size_t kMaxTailBytes = 256;  // more than any mark has, and the token that ends it

  static size_t word_of(TokenId id) { return static_cast<size_t>(to_index(id)) / 64; }
  static uint64_t bit_of(TokenId id) { return uint64_t{1} << (static_cast<size_t>(to_index(id)) % 64); }

  void enter_reasoning() {
    place_ = Place::kReasoning;
    tail_.clear();
    if (n_left_ == 0) close();
  }

  // Tags open reasoning before the answer's first word only, a channel's header wherever it stands.
  void look_for_begin() {
    if (marks_.is_channel) {
      if (tail_.find(marks_.begin) != std::string::npos) return enter_reasoning();
      return bound_tail();
    }
    std::string_view text = tail_;
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (text.starts_with(marks_.begin)) return enter_reasoning();
    if (!std::string_view(marks_.begin).starts_with(text)) leave_reasoning();
  }

  void count() {
    --n_left_;
    const auto is_there = [this](const std::string& end) { return tail_.find(end) != std::string::npos; };
    if (std::ranges::any_of(marks_.ends, is_there)) return leave_reasoning();
    if (n_left_ == 0) return close();
    bound_tail();
  }

  // A model that has no token for the mark may have begun to write it: then its rest is forced.
  void close() {
    std::string_view mark = marks_.close;
    if (const auto token = tokenizer_->find(mark)) {
      closing_ = {*token};
    } else {
      mark.remove_prefix(n_begun(tail_, mark));
      closing_ = tokenizer_->encode(mark, {.add_special = false, .parse_special = true});
    }
    n_closed_ = 0;
    place_ = closing_.empty() ? Place::kAfter : Place::kClosing;
  }

  void note_closed() {
    if (++n_closed_ < closing_.size()) return;
    leave_reasoning();
    has_just_closed_ = true;
    not_after_close_ = tokenizer_->find(marks_.not_after_close);
  }

  void leave_reasoning() {
    place_ = marks_.is_channel ? Place::kBefore : Place::kAfter;
    tail_.clear();
  }

  void bound_tail() {
    if (tail_.size() > kMaxTailBytes) tail_.erase(0, tail_.size() - kMaxTailBytes / 2);
  }

  std::shared_ptr<TokenConstraint> inner_;
  text::ReasoningMarks marks_;
  const text::Tokenizer* tokenizer_;
  uint32_t n_left_;  // tokens
  Place place_ = Place::kBefore;
  std::string tail_;              // the text's end, where a mark may stand
  std::vector<TokenId> closing_;  // forced, of which the first n_closed_ are there
  size_t n_closed_ = 0;
  bool has_just_closed_ = false;
  std::optional<TokenId> not_after_close_;
};

}  // namespace

std::shared_ptr<TokenConstraint> with_reasoning_budget(std::shared_ptr<TokenConstraint> inner,
                                                       const text::OutputFormat& format,
                                                       const text::Tokenizer& tokenizer, ReasoningBudget budget) {
  auto marks = text::reasoning_marks(format);
  if (!marks) return inner;
  return std::make_shared<BudgetConstraint>(std::move(inner), std::move(*marks), tokenizer, budget);
}

}  // namespace realizar
