#include "text/tokenizer/end_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/printable.h"
#include "base/try.h"
#include "text/tokenizer/builders.h"

namespace realizar::text {
namespace {

// Tokens with which published chat models end a turn or a tool call. Files often do not mark them as control tokens.
constexpr std::string_view kEndPieces[] = {
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end|>",
    "<end_of_turn>",
    "<turn|>",
    "<|tool_response>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|return|>",
    "<|call|>",
    "<|calls|>",
    "<|flush|>",
    "<|observation|>",
    "<EOT>",
    "_<EOT>",
    "<_EOT>",
    "<|EOT|>",
    "<|eot|>",
    "[EOT]",
    "[EOS]",
    "<eos>",
    "<|END_OF_TURN_TOKEN|>",
    "<|end_of_sentence|>",
    "<｜end▁of▁sentence｜>",
    "<|end_of_turn|>",
    "<|endofturn|>",
    "[|endofturn|]",
    "<|im_sep_end|>",
    "<|user_end|>",
    "<end_of_utterance>",
    "<|role_end|>",
    "<|message_end|>",
};
// Also an HTML tag: it only counts if the vocabulary marks it as a control token.
constexpr std::string_view kControlEndPiece = "</s>";

constexpr const char* kKnownName = "its name";
constexpr const char* kOwnSource = "the tokenizer";

bool is_known_name(std::string_view piece, TokenType type) {
  if (piece == kControlEndPiece) return type == TokenType::kControl;
  return std::ranges::find(kEndPieces, piece) != std::end(kEndPieces);
}

// In formats with channels <|end|> ends one message of an answer, and other tokens end the answer.
template <class Vocab>
bool ends_messages_alone(const Vocab& vocab, std::string_view piece) {
  if (piece != "<|end|>") return false;
  const auto has = [&](std::string_view other) { return vocab.find(other).has_value(); };
  return (has("<|return|>") && has("<|call|>")) || (has("<|flush|>") && has("<|calls|>"));
}

}  // namespace

std::vector<TokenId> find_end_tokens(const Vocabulary& vocab, std::optional<TokenId> eos, std::optional<TokenId> eot) {
  std::vector<TokenId> ends;
  const auto add = [&](std::optional<TokenId> id) {
    if (!id || ends_messages_alone(vocab, vocab.piece(*id))) return;
    if (std::ranges::find(ends, *id) == ends.end()) ends.push_back(*id);
  };
  add(eos);
  add(eot);
  for (const std::string_view piece : kEndPieces) add(vocab.find(piece));
  const std::optional<TokenId> control = vocab.find(kControlEndPiece);
  if (control && vocab.type(*control) == TokenType::kControl) add(control);
  return ends;
}

void EndTokens::claim(int64_t id, const std::string& source) {
  if (id < 0 || id >= tokenizer_.n_vocab()) {
    notes_.push_back(fmt::format("{}: the end token {} is left out: the vocabulary has {} tokens", source, id,
                                 tokenizer_.n_vocab()));
    return;
  }
  const TokenId token{static_cast<int32_t>(id)};
  if (!ends_messages_alone(tokenizer_, tokenizer_.piece(token))) return put(token, source);
  notes_.push_back(
      fmt::format("{}: <|end|> is left out: in this vocabulary it ends a message, and not the answer", source));
}

void EndTokens::claim(const std::string& piece, const std::string& source) {
  const auto id = tokenizer_.find(piece);
  if (id) return claim(to_index(*id), source);
  notes_.push_back(
      fmt::format("{}: the end token '{}' is left out: it is not in the vocabulary", source, shown(piece)));
}

void EndTokens::claim_own() {
  for (const TokenId id : tokenizer_.end_tokens()) {
    const bool is_known = is_known_name(tokenizer_.piece(id), tokenizer_.type(id));
    const bool is_there = std::ranges::find(ends_, id, &EndToken::id) != ends_.end();
    if (is_known || !is_there) put(id, is_known ? kKnownName : kOwnSource);
  }
}

void EndTokens::deny(int64_t id) {
  if (id < 0 || id > std::numeric_limits<int32_t>::max()) return;
  std::erase_if(ends_, [token = TokenId{static_cast<int32_t>(id)}](const EndToken& end) { return end.id == token; });
}

Status EndTokens::add(const std::string& piece, const std::string& subject) {
  RZ_TRY(const TokenId id, find(piece, subject));
  put(id, subject);
  return {};
}

Status EndTokens::remove(const std::string& piece, const std::string& subject) {
  RZ_TRY(const TokenId id, find(piece, subject));
  const bool was_end = std::erase_if(ends_, [&](const EndToken& end) { return end.id == id; }) > 0;
  if (!was_end) notes_.push_back(fmt::format("{}: '{}' ends no answer of this model anyway", subject, shown(piece)));
  return {};
}

void EndTokens::put(TokenId id, const std::string& source) {
  const auto found = std::ranges::find(ends_, id, &EndToken::id);
  if (found == ends_.end()) {
    ends_.push_back({id, {source}});
  } else if (std::ranges::find(found->sources, source) == found->sources.end()) {
    found->sources.push_back(source);
  }
}

Result<TokenId> EndTokens::find(const std::string& piece, const std::string& subject) const {
  if (const auto id = tokenizer_.find(piece)) return *id;
  return invalid_argument(
      fmt::format("{}: expected a token of the model's vocabulary, actual '{}'", subject, shown(piece)), subject);
}

}  // namespace realizar::text
