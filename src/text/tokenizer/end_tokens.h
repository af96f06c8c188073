// The tokens that end an answer: the union of the model's files, well-known names in its vocabulary, and the user's
// changes. Each token records the sources that name it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "realizar/result.h"
#include "text/tokenizer/tokenizer.h"

namespace realizar::text {

struct EndToken {
  TokenId id;
  std::vector<std::string> sources;  // e.g. "tokenizer.ggml.eos_token_id", in the order of discovery
};

class EndTokens {
 public:
  // `tokenizer` must outlive it.
  explicit EndTokens(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}
  // The union of `claims`, a list of formats' EndClaim, and of the tokenizer's own end tokens.
  template <class Claims>
  static EndTokens united(const Tokenizer& tokenizer, const Claims& claims);

  // A claim for a token outside the vocabulary is skipped with a note.
  void claim(int64_t id, const std::string& source);
  void claim(const std::string& piece, const std::string& source);
  // The tokenizer's own end tokens: those of its format, and well-known names.
  void claim_own();
  // The token ends no answer, regardless of claims.
  void deny(int64_t id);

  // A user's changes, which override all claims. Errors: InvalidArgument for a piece that is not a token, with
  // `subject`.
  Status add(const std::string& piece, const std::string& subject);
  Status remove(const std::string& piece, const std::string& subject);

  const std::vector<EndToken>& ends() const { return ends_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void put(TokenId id, const std::string& source);
  Result<TokenId> find(const std::string& piece, const std::string& subject) const;

  const Tokenizer& tokenizer_;
  std::vector<EndToken> ends_;
  std::vector<std::string> notes_;
};

template <class Claims>
EndTokens EndTokens::united(const Tokenizer& tokenizer, const Claims& claims) {
  EndTokens ends(tokenizer);
  for (const auto& claim : claims) {
    if (!claim.is_denial) std::visit([&](const auto& token) { ends.claim(token, claim.source); }, claim.token);
  }
  ends.claim_own();
  for (const auto& claim : claims) {
    if (const auto* id = std::get_if<int64_t>(&claim.token); id != nullptr && claim.is_denial) ends.deny(*id);
  }
  return ends;
}

}  // namespace realizar::text
