#include "server/call/token_rules.h"

#include <algorithm>
#include <utility>

namespace realizar::server {
namespace {

class RuleConstraint final : public TokenConstraint {
 public:
  RuleConstraint(std::shared_ptr<TokenConstraint> inner, TokenRules rules, uint32_t n_vocab)
      : inner_(std::move(inner)), rules_(std::move(rules)) {
    if (!rules_.allowed.empty()) mask_.resize((size_t{n_vocab} + 63) / 64);
    for (const TokenId id : rules_.allowed) mask_[word_of(id)] |= bit_of(id);
    size_t n_longest = 0;
    for (const auto& word : rules_.bad_words) n_longest = std::max(n_longest, word.size());
    n_kept_ = n_longest > 0 ? n_longest - 1 : 0;
    last_.reserve(n_kept_ + 1);
  }

  bool allow(std::span<uint64_t> allowed) override {
    const bool is_short = n_tokens_ < rules_.min_tokens;
    const bool binds = is_short || !mask_.empty() || !rules_.bad_words.empty();
    const bool inner_binds = inner_ != nullptr && inner_->allow(allowed);
    if (!binds) return inner_binds;
    if (!inner_binds) std::fill(allowed.begin(), allowed.end(), ~uint64_t{0});
    for (size_t i = 0; i < std::min(mask_.size(), allowed.size()); ++i) allowed[i] &= mask_[i];
    if (is_short) {
      for (const TokenId id : rules_.ends) forbid(allowed, id);
    }
    for (const auto& word : rules_.bad_words) {
      if (ends_in(std::span(word).first(word.size() - 1))) forbid(allowed, word.back());
    }
    return true;
  }

  Readiness prepare(int64_t& n_work) override {
    return inner_ != nullptr ? inner_->prepare(n_work) : Readiness::kReady;
  }

  void accept(TokenId id) override {
    ++n_tokens_;
    if (inner_ != nullptr) inner_->accept(id);
    if (n_kept_ == 0) return;
    last_.push_back(id);
    if (last_.size() > n_kept_) last_.erase(last_.begin());
  }

  bool refuse_end(TokenId id) override { return inner_ != nullptr && inner_->refuse_end(id); }

  std::shared_ptr<TokenConstraint> clone() const override {
    auto copy = std::make_shared<RuleConstraint>(*this);
    if (inner_ != nullptr) copy->inner_ = inner_->clone();
    copy->last_.reserve(n_kept_ + 1);
    return copy;
  }

  std::vector<std::string> left_out() const override {
    return inner_ != nullptr ? inner_->left_out() : std::vector<std::string>();
  }

 private:
  static size_t word_of(TokenId id) { return static_cast<size_t>(to_index(id)) / 64; }
  static uint64_t bit_of(TokenId id) { return uint64_t{1} << (static_cast<size_t>(to_index(id)) % 64); }
  static void forbid(std::span<uint64_t> allowed, TokenId id) {
    if (word_of(id) < allowed.size()) allowed[word_of(id)] &= ~bit_of(id);
  }

  bool ends_in(std::span<const TokenId> beginning) const {
    return beginning.size() <= last_.size() && std::equal(beginning.rbegin(), beginning.rend(), last_.rbegin());
  }

  std::shared_ptr<TokenConstraint> inner_;
  TokenRules rules_;
  std::vector<uint64_t> mask_;  // of rules_.allowed
  std::vector<TokenId> last_;   // the recent tokens, which may begin a bad word
  size_t n_kept_ = 0;
  uint32_t n_tokens_ = 0;
};

}  // namespace

std::shared_ptr<TokenConstraint> with_rules(std::shared_ptr<TokenConstraint> inner, const TokenRules& rules,
                                            uint32_t n_vocab) {
  if (rules.is_empty()) return inner;
  return std::make_shared<RuleConstraint>(std::move(inner), rules, n_vocab);
}

}  // namespace realizar::server
