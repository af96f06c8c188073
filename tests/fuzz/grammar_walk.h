// Walks a few tokens through a compiled grammar, for the fuzz targets: tokens that a mask allows must be accepted.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "grammar/matcher.h"

inline void walk_grammar(std::shared_ptr<const realizar::grammar::Grammar> grammar, uint32_t seed) {
  using namespace realizar;
  static const auto trie = [] {
    std::vector<std::string> tokens{"{\"", "\":", "\", \"", "\"}", "}}", "]]",  "[[",      "aaaa",
                                    "abc", "  ",  "\n  ",   "00",  "12", "\\u", "\xC3\xA9"};
    for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
    return std::make_shared<const grammar::TokenTrie>(tokens);
  }();
  grammar::Matcher matcher(std::make_shared<grammar::MaskCache>(std::move(grammar), trie));
  std::vector<uint64_t> mask(trie->mask_words());
  for (int step = 0; step < 12; ++step) {
    matcher.fill_mask(mask);
    std::vector<int32_t> allowed;
    for (int32_t id = 0; id < static_cast<int32_t>(trie->n_vocab()); ++id) {
      if ((mask[static_cast<size_t>(id) / 64] >> (id % 64) & 1) != 0) allowed.push_back(id);
    }
    if (allowed.empty()) {
      if (!matcher.is_complete()) std::abort();
      return;
    }
    seed = seed * 1664525u + 1013904223u;
    if (!matcher.accept(TokenId{allowed[(seed >> 8) % allowed.size()]})) std::abort();
  }
}
