// Shared by the grammar tests: matchers from text, and whole documents tried on them.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/matcher.h"

namespace realizar::grammar {

inline std::shared_ptr<const TokenTrie> trie_of(std::vector<std::string> tokens) {
  return std::make_shared<TokenTrie>(tokens);
}

// One token per byte.
inline std::shared_ptr<const TokenTrie> byte_trie() {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  return trie_of(std::move(tokens));
}

inline Matcher matcher_of(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTrie> trie = byte_trie()) {
  return Matcher(std::make_shared<MaskCache>(std::move(grammar), std::move(trie)));
}

// Whether the whole text is a sentence.
inline bool matches(const std::shared_ptr<const Grammar>& grammar, std::string_view text) {
  Matcher matcher = matcher_of(grammar);
  return (text.empty() || matcher.accept_bytes(text)) && matcher.is_complete();
}

struct Sentences {
  const char* grammar;
  std::vector<std::string> accepted, rejected;
};

// Each `grammar` is a JSON Schema.
inline void expect_sentences(const std::vector<Sentences>& cases) {
  for (const Sentences& test : cases) {
    const auto grammar = Grammar::from_json_schema(test.grammar);
    ASSERT_TRUE(grammar.ok()) << test.grammar << ": " << grammar.error().message;
    for (const auto& text : test.accepted) EXPECT_TRUE(matches(*grammar, text)) << test.grammar << " on " << text;
    for (const auto& text : test.rejected) EXPECT_FALSE(matches(*grammar, text)) << test.grammar << " on " << text;
  }
}

}  // namespace realizar::grammar
