// Grammars for constrained answers: compiled once, and cached for later requests with the same grammar.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "grammar/matcher.h"
#include "realizar/result.h"
#include "text/tokenizer/tokenizer.h"

namespace realizar {

// The compiled grammars of one model. Any thread.
class GrammarCache {
 public:
  // `markers`: control tokens that grammars may use, by their text. `tokenizer` must outlive this.
  GrammarCache(const text::Tokenizer& tokenizer, std::vector<std::string> markers);

  using Compiled = std::shared_ptr<grammar::MaskCache>;
  using Compile = std::function<Result<std::shared_ptr<const grammar::Grammar>>()>;
  // The result of `compile`, or the cached one under this key. Errors: those of `compile`.
  Result<Compiled> find_or_compile(const std::string& key, const Compile& compile);
  // Errors: those of the grammar, by keyword or by line and column.
  Result<Compiled> from_gbnf(const std::string& source);
  // `relaxed`: parts of the schema that no grammar can enforce are dropped instead of refused.
  Result<Compiled> from_schema(const std::string& schema_json, bool relaxed = false);

 private:
  std::shared_ptr<const grammar::TokenTrie> trie();

  static constexpr size_t kMaxGrammars = 32;

  const text::Tokenizer& tokenizer_;
  std::vector<std::string> markers_;
  std::mutex mutex_;
  std::shared_ptr<const grammar::TokenTrie> trie_;        // made on first use
  std::list<std::pair<std::string, Compiled>> grammars_;  // most recently used first
};

}  // namespace realizar
