#include "api/grammar_cache.h"

#include <algorithm>
#include <optional>

#include "base/try.h"

namespace realizar {
namespace {

// Once bound, follows a grammar; before that, waits for the text that it starts after.
class GrammarConstraint final : public TokenConstraint {
 public:
  GrammarConstraint(std::shared_ptr<grammar::MaskCache> grammar, const text::Tokenizer& tokenizer,
                    std::span<const TokenId> end_tokens, const text::GrammarStart& start)
      : matcher_(std::move(grammar)),
        tokenizer_(&tokenizer),
        end_tokens_(end_tokens.begin(), end_tokens.end()),
        after_(start.after),
        is_bound_(start.after.empty() || !start.may_open.empty()) {
    if (!start.may_open.empty()) opener_ = tokenizer.find(start.may_open);
  }

  bool allow(std::span<uint64_t> allowed) override {
    if (!is_bound_) return false;
    matcher_.fill_mask(allowed);
    if (matcher_.is_complete()) {
      for (const TokenId id : end_tokens_) set(allowed, id);
    }
    if (opener_) set(allowed, *opener_);
    return true;
  }

  Readiness prepare(uint64_t& n_work) override {
    if (!is_bound_) return Readiness::kReady;
    switch (matcher_.prepare(n_work)) {
      case grammar::MaskProgress::kDone:
        return Readiness::kReady;
      case grammar::MaskProgress::kUnderWay:
        return Readiness::kUnderWay;
      case grammar::MaskProgress::kTooCostly:
        break;
    }
    return Readiness::kTooCostly;
  }

  void accept(TokenId id) override {
    if (is_bound_ && opener_ != id) {
      opener_.reset();
      static_cast<void>(matcher_.accept(id));
      return;
    }
    is_bound_ = false;
    opener_.reset();
    tail_ += tokenizer_->token_bytes(id, {.skip_special = false});
    if (tail_.find(after_) != std::string::npos) is_bound_ = true;
    if (tail_.size() > 4 * after_.size()) tail_.erase(0, tail_.size() - after_.size());
  }

  std::shared_ptr<TokenConstraint> clone() const override { return std::make_shared<GrammarConstraint>(*this); }

 private:
  static void set(std::span<uint64_t> allowed, TokenId id) {
    const auto t = static_cast<size_t>(to_index(id));
    if (t / 64 < allowed.size()) allowed[t / 64] |= uint64_t{1} << (t % 64);
  }

  grammar::Matcher matcher_;
  const text::Tokenizer* tokenizer_;
  std::vector<TokenId> end_tokens_;
  std::string after_, tail_;
  std::optional<TokenId> opener_;  // may come first, and puts the grammar off
  bool is_bound_;
};

}  // namespace

GrammarCache::GrammarCache(const text::Tokenizer& tokenizer, std::vector<std::string> markers)
    : tokenizer_(tokenizer), markers_(std::move(markers)) {}

// Under the lock.
std::shared_ptr<const grammar::TokenTrie> GrammarCache::trie() {
  if (trie_ != nullptr) return trie_;
  std::vector<std::string> bytes(static_cast<size_t>(tokenizer_.n_vocab()));
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = tokenizer_.token_bytes(TokenId{static_cast<int32_t>(i)});
  for (const std::string& marker : markers_) {
    if (const auto id = tokenizer_.find(marker)) bytes[static_cast<size_t>(to_index(*id))] = marker;
  }
  return trie_ = std::make_shared<grammar::TokenTrie>(bytes);
}

Result<GrammarCache::Compiled> GrammarCache::find_or_compile(const std::string& key, const Compile& compile) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(grammars_.begin(), grammars_.end(), [&](const auto& g) { return g.first == key; });
    if (found != grammars_.end()) {
      grammars_.splice(grammars_.begin(), grammars_, found);
      return grammars_.front().second;
    }
  }
  RZ_TRY(auto grammar, compile());
  const std::lock_guard lock(mutex_);
  auto compiled = std::make_shared<grammar::MaskCache>(std::move(grammar), trie());
  grammars_.emplace_front(key, compiled);
  if (grammars_.size() > kMaxGrammars) grammars_.pop_back();
  return compiled;
}

Result<GrammarCache::Compiled> GrammarCache::from_gbnf(const std::string& source) {
  return find_or_compile("gbnf:" + source, [&] { return grammar::Grammar::from_gbnf(source); });
}

Result<GrammarCache::Compiled> GrammarCache::from_schema(const std::string& schema_json, bool relaxed) {
  return find_or_compile((relaxed ? "relaxed json:" : "json:") + schema_json,
                         [&] { return grammar::Grammar::from_json_schema(schema_json, {}, {.relaxed = relaxed}); });
}

std::shared_ptr<TokenConstraint> make_constraint(std::shared_ptr<grammar::MaskCache> grammar,
                                                 const text::Tokenizer& tokenizer, std::span<const TokenId> end_tokens,
                                                 const text::GrammarStart& start) {
  return std::make_shared<GrammarConstraint>(std::move(grammar), tokenizer, end_tokens, start);
}

}  // namespace realizar
