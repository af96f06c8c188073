// The tokens that end an answer: what a model's files claim, what its vocabulary names so, and what a user adds and
// takes out, united. Each end keeps the places that name it.
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
  std::vector<std::string> sources;  // e.g. "tokenizer.ggml.eos_token_id", in the order in which they were found
};

class EndTokens {
 public:
  // `tokenizer` must outlive it.
  explicit EndTokens(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}
  // The union of `claims`, a list of formats' EndClaim, and of the tokenizer's own ends.
  template <class Claims>
  static EndTokens united(const Tokenizer& tokenizer, const Claims& claims);

  // A claim for a token that the vocabulary lacks is left out with a note.
  void claim(int64_t id, const std::string& source);
  void claim(const std::string& piece, const std::string& source);
  // The tokenizer's own: those of its format, and the names that are known to end answers.
  void claim_own();
  // The token ends no answer, whoever claims it.
  void deny(int64_t id);

  // A user's changes, over all claims. Errors: InvalidArgument for a piece that is no token; `subject` stands in
  // it.
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
