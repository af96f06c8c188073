// The model step of RWKV's World vocabulary: from left to right, the longest token that begins the rest of the text.
// Tokens are byte strings, which need not be whole characters.
#include <string>
#include <utility>

#include "text/tokenizer/builders.h"
#include "text/tokenizer/byte_trie.h"

namespace realizar::text {
namespace {

// The maximum look-ahead at every position of a text.
constexpr size_t kMaxTokenBytes = 4096;

bool is_text(TokenType type) {
  return type == TokenType::kNormal || type == TokenType::kUserDefined || type == TokenType::kByte;
}

class LongestMatch final : public MergeModel {
 public:
  LongestMatch(ByteTrie trie, TokenId unk) : trie_(std::move(trie)), unk_(unk) {}

  void encode_word(std::string_view word, std::vector<TokenId>& out) const override {
    for (size_t at = 0; at < word.size();) {
      const Match match = longest_at(word, at);
      out.push_back(match.id);
      at += match.n_bytes;
    }
  }

 private:
  struct Match {
    TokenId id;
    size_t n_bytes;
  };

  // A byte that no token begins with becomes an unknown token.
  Match longest_at(std::string_view word, size_t at) const {
    Match longest{unk_, 1};
    int32_t node = ByteTrie::kRoot;
    for (size_t end = at; end < word.size();) {
      node = trie_.step(node, static_cast<uint8_t>(word[end++]));
      if (node == ByteTrie::kNone) break;
      if (const int32_t id = trie_.value(node); id != ByteTrie::kNone) longest = {TokenId{id}, end - at};
    }
    return longest;
  }

  const ByteTrie trie_;
  const TokenId unk_;
};

}  // namespace

Result<std::unique_ptr<MergeModel>> make_longest_match_model(const Vocabulary& vocab, const StringTable& bytes,
                                                             std::optional<TokenId> unk) {
  std::vector<ByteTrie::Entry> entries;
  for (int32_t i = 0; i < vocab.size(); ++i) {
    const std::string_view token = bytes[static_cast<size_t>(i)];
    if (token.empty() || !is_text(vocab.type(TokenId{i}))) continue;
    if (token.size() > kMaxTokenBytes) {
      return format_error("token " + std::to_string(i) + ": expected up to " + std::to_string(kMaxTokenBytes) +
                              " bytes, got " + std::to_string(token.size()),
                          "tokens");
    }
    entries.push_back({token, i});
  }
  ByteTrie trie(std::move(entries));
  for (int byte = 0; byte < 256 && !unk; ++byte) {
    const int32_t node = trie.step(ByteTrie::kRoot, static_cast<uint8_t>(byte));
    if (node != ByteTrie::kNone && trie.value(node) != ByteTrie::kNone) continue;
    return format_error("the byte " + std::to_string(byte) + " is not a token, and there is no unknown token",
                        "tokens");
  }
  return std::unique_ptr<MergeModel>(std::make_unique<LongestMatch>(std::move(trie), unk.value_or(kNoToken)));
}

}  // namespace realizar::text
