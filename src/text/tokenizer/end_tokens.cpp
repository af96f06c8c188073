#include <algorithm>

#include "text/tokenizer/builders.h"

namespace realizar::text {
namespace {

// Control tokens with which published chat models end a turn or a tool call. A name counts only if the vocabulary
// itself marks the token as control.
constexpr std::string_view kEndPieces[] = {
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end|>",
    "<end_of_turn>",
    "<turn|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|return|>",
    "<|call|>",
    "</s>",
    "<EOT>",
    "<|END_OF_TURN_TOKEN|>",
    "<|end_of_sentence|>",
    "<｜end▁of▁sentence｜>",
    "<|eot|>",
    "<|end_of_turn|>",
    "<|endofturn|>",
    "[EOT]",
    "[EOS]",
    "<|im_sep_end|>",
    "<|user_end|>",
    "<eos>",
    "<|EOT|>",
    "<_EOT>",
    "<end_of_utterance>",
    "<|role_end|>",
    "<|message_end|>",
};

}  // namespace

std::vector<TokenId> find_end_tokens(const Vocabulary& vocab, std::optional<TokenId> eos, std::optional<TokenId> eot) {
  std::vector<TokenId> ends;
  const auto add = [&](std::optional<TokenId> id) {
    if (id && std::find(ends.begin(), ends.end(), *id) == ends.end()) ends.push_back(*id);
  };
  add(eos);
  add(eot);
  for (std::string_view piece : kEndPieces) {
    const std::optional<TokenId> id = vocab.find(piece);
    if (id && vocab.type(*id) == TokenType::kControl) add(id);
  }
  return ends;
}

}  // namespace realizar::text
