// For tests: a tokenizer that has every byte as a token.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/tokenizer/tokenizer.h"

namespace realizar::text {

// A SentencePiece vocabulary: "<s>" is 0, byte b is 1 + b, followed by the given pieces.
inline Tokenizer make_byte_tokenizer(std::vector<std::string_view> pieces, bool add_space_prefix) {
  static std::vector<std::string> byte_pieces;
  if (byte_pieces.empty()) {
    for (int b = 0; b < 256; ++b) {
      char spelled[8];
      std::snprintf(spelled, sizeof(spelled), "<0x%02X>", static_cast<unsigned>(b));
      byte_pieces.push_back(spelled);
    }
  }
  GgufVocab vocab;
  vocab.model = "llama";
  vocab.tokens = {"<s>"};
  vocab.token_types = {3};
  for (const std::string& piece : byte_pieces) {
    vocab.tokens.push_back(piece);
    vocab.token_types.push_back(6);
  }
  for (std::string_view piece : pieces) {
    vocab.tokens.push_back(piece);
    vocab.token_types.push_back(1);
  }
  vocab.scores.assign(vocab.tokens.size(), 0);
  vocab.add_space_prefix = add_space_prefix;
  auto tokenizer = Tokenizer::from_gguf(vocab);
  EXPECT_TRUE(tokenizer.ok());
  return std::move(*tokenizer);
}

inline TokenId byte_token(uint8_t byte) {
  return TokenId{1 + byte};
}

}  // namespace realizar::text
