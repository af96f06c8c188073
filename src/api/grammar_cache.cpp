#include "api/grammar_cache.h"

#include <algorithm>

#include "base/try.h"

namespace realizar {
GrammarCache::GrammarCache(const text::Tokenizer& tokenizer, std::vector<std::string> markers)
    : tokenizer_(tokenizer), markers_(std::move(markers)) {}

// Requires the lock.
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

}  // namespace realizar
