#include "api/grammar_constraint.h"

#include <algorithm>
#include <optional>
#include <string>

#include "text/tokenizer/tokenizer.h"

namespace realizar {
namespace {

// The length of the longest proper prefix of `text` that ends `written`.
size_t n_begun(std::string_view written, std::string_view text) {
  size_t n_bytes = text.empty() ? 0 : std::min(written.size(), text.size() - 1);
  while (n_bytes > 0 && !written.ends_with(text.substr(0, n_bytes))) --n_bytes;
  return n_bytes;
}

// Follows a grammar once it is bound; before that, waits for the text after which it starts.
class GrammarConstraint final : public TokenConstraint {
 public:
  GrammarConstraint(std::shared_ptr<grammar::MaskCache> grammar, const text::Tokenizer& tokenizer,
                    std::span<const TokenId> end_tokens, const text::GrammarStart& start)
      : matcher_(std::move(grammar)),
        tokenizer_(&tokenizer),
        end_tokens_(end_tokens.begin(), end_tokens.end()),
        start_(start),
        is_bound_(start.after.empty() || !start.may_open.empty()) {
    if (!start.may_open.empty()) opener_ = tokenizer.find(start.may_open);
  }

  bool allow(std::span<uint64_t> allowed) override {
    if (closing_.is_open()) {
      closing_.allow(allowed);
      return true;
    }
    if (!is_bound_) return false;
    matcher_.fill_mask(allowed);
    if (matcher_.is_complete()) {
      for (const TokenId id : end_tokens_) set(allowed, id);
    }
    if (opener_) set(allowed, *opener_);
    return true;
  }

  Readiness prepare(int64_t& n_work) override {
    if (!is_bound_) return Readiness::kReady;
    const grammar::MaskProgress progress = matcher_.prepare(n_work);
    if (progress == grammar::MaskProgress::kDone) return Readiness::kReady;
    return progress == grammar::MaskProgress::kUnderWay ? Readiness::kUnderWay : Readiness::kTooCostly;
  }

  void accept(TokenId id) override {
    if (is_bound_ && opener_ != id) {
      opener_.reset();
      matcher_.accept_later(id);
      return;
    }
    opener_.reset();
    tail_ += tokenizer_->token_bytes(id, {.skip_special = false});
    const bool was_closing = closing_.is_open();
    if (was_closing) closing_.accept();
    is_bound_ = was_closing ? !closing_.is_open() : tail_.find(start_.after) != std::string::npos;
    const size_t n_kept = std::max(start_.after.size(), start_.close.size());
    if (tail_.size() > 4 * n_kept) tail_.erase(0, tail_.size() - n_kept);
  }

  // A grammar that accepts the empty text requires nothing more.
  bool refuse_end(TokenId id) override {
    if (closing_.is_open()) return true;
    const bool is_end = std::ranges::find(end_tokens_, id) != end_tokens_.end();
    const bool is_call = !start_.call_end.empty() && tokenizer_->find(start_.call_end) == id;
    if (is_bound_ || !is_end || is_call || matcher_.is_complete()) return false;
    closing_.begin(*tokenizer_, tail_, start_.close);
    return closing_.is_open();
  }

  std::shared_ptr<TokenConstraint> clone() const override { return std::make_shared<GrammarConstraint>(*this); }

  std::vector<std::string> left_out() const override { return matcher_.grammar().left_out(); }

 private:
  static void set(std::span<uint64_t> allowed, TokenId id) {
    const auto t = static_cast<size_t>(to_index(id));
    if (t / 64 < allowed.size()) allowed[t / 64] |= uint64_t{1} << (t % 64);
  }

  grammar::Matcher matcher_;
  const text::Tokenizer* tokenizer_;
  std::vector<TokenId> end_tokens_;
  text::GrammarStart start_;
  std::string tail_;               // the end of the text, which may contain a mark
  ForcedText closing_;             // start_.close, in place of an end token
  std::optional<TokenId> opener_;  // an optional first token that postpones the grammar
  bool is_bound_;
};

}  // namespace

void ForcedText::begin(const text::Tokenizer& tokenizer, std::string_view written, std::string_view text) {
  n_accepted_ = 0;
  if (const auto token = tokenizer.find(text)) {
    tokens_ = {*token};
    return;
  }
  text.remove_prefix(n_begun(written, text));
  tokens_ = tokenizer.encode(text, {.add_special = false, .parse_special = true});
}

void ForcedText::allow(std::span<uint64_t> allowed) const {
  std::ranges::fill(allowed, uint64_t{0});
  const auto next = static_cast<size_t>(to_index(tokens_[n_accepted_]));
  if (next / 64 < allowed.size()) allowed[next / 64] = uint64_t{1} << (next % 64);
}

std::shared_ptr<TokenConstraint> make_constraint(std::shared_ptr<grammar::MaskCache> grammar,
                                                 const text::Tokenizer& tokenizer, std::span<const TokenId> end_tokens,
                                                 const text::GrammarStart& start) {
  return std::make_shared<GrammarConstraint>(std::move(grammar), tokenizer, end_tokens, start);
}

}  // namespace realizar
