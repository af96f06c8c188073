// One answer's text while its tokens arrive: cut at a stop string, and, where that is asked for, told apart into
// reasoning and answer. One per generation.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/engine.h"
#include "text/detokenizer.h"
#include "text/output/output_parser.h"

namespace realizar {

class AnswerText {
 public:
  struct Piece {
    std::string text;
    bool is_reasoning = false;
  };

  // `template_source`: of the model's chat template, which says how reasoning is marked. `prompt`: may end with the
  // mark that opens it. `tokenizer` must outlive this.
  AnswerText(const text::Tokenizer& tokenizer, std::string_view template_source, std::span<const TokenId> prompt,
             const TextOptions& options);

  // What is certain once the token is there; may be empty.
  std::vector<Piece> push(TokenId id);
  // What was held back, at the end.
  std::vector<Piece> finish();
  // A stop string is complete: what comes after it is no part of the answer.
  bool is_stopped() const { return is_stopped_; }

 private:
  struct Split {
    text::OutputFormat format;
    bool starts_in_reasoning;
  };
  static std::optional<Split> find_split(const text::Tokenizer& tokenizer, std::string_view template_source,
                                         std::span<const TokenId> prompt, const TextOptions& options);
  AnswerText(const text::Tokenizer& tokenizer, const std::optional<Split>& split, const TextOptions& options);

  std::vector<Piece> split(std::string text);

  text::StreamingDetokenizer detokenizer_;
  std::optional<text::OutputParser> parser_;
  bool is_stopped_ = false;
};

}  // namespace realizar
