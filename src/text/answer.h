// The text side of one answer: token ids in; reasoning, content, tool calls and the reason of its end out. The server,
// the library and the command line read every answer through this class. One per answer; not thread-safe. Never fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/generation.h"
#include "text/output/output_parser.h"
#include "text/tokenizer/detokenizer.h"

namespace realizar::text {

// Determines which of an answer's tokens form its content, among reasoning, calls and their marks. One per answer.
class ContentTokens {
 public:
  // `idx`: the token, counted from 0. `begin`: the position of its text in the answer's text.
  void add(uint32_t idx, size_t begin);
  // `text`: the next part of the answer's text; `events`: the parser's events for it. Returns each token of content
  // once, including tokens that only partly belong to it.
  std::vector<uint32_t> take(std::string_view text, const std::vector<OutputEvent>& events);
  // The first token for which it is not decided whether it is content.
  std::optional<uint32_t> first_waiting() const {
    return waiting_.empty() ? std::nullopt : std::optional(waiting_.front().idx);
  }

 private:
  struct Span {
    size_t begin, end;
    bool is_content;
  };
  std::vector<Span> spans_of(const std::vector<OutputEvent>& events) const;
  void release(const Span& span, std::vector<uint32_t>& content);
  size_t end_of_first() const;

  struct Waiting {
    uint32_t idx;
    size_t begin;
  };
  std::deque<Waiting> waiting_;
  std::string text_;     // not covered by an event yet
  size_t n_before_ = 0;  // bytes of the answer's text before it
};

struct AnswerOptions {
  std::vector<std::string> stop = {};  // strings that end the answer, without being part of it
  uint32_t min_tokens = 0;             // before this many tokens none of them ends it
  bool skip_special = true;            // control tokens produce no text
  // How the model marks reasoning and calls; absent: all text is content.
  std::optional<OutputFormat> format = {};
  std::vector<ToolSpec> tools = {};
  bool starts_in_reasoning = false;
  std::string content_begin = {};    // text before the first one, part of the prompt: the mark of thoughts
  bool one_call = false;             // the answer ends with its first tool call
  bool tells_tokens = false;         // AnswerPart::tokens is filled,
  bool content_tokens_only = false;  // without those of reasoning and calls
};

// Splits the answer into its parts by the model's marks. `prompt` may end inside reasoning. If the options have no
// tools, calls stay in the text.
void detect_parts(AnswerOptions& options, const Tokenizer& tokenizer, const OutputFormat& format,
                  std::span<const TokenId> prompt);

// The new text since the last call.
struct AnswerPart {
  std::vector<OutputEvent> events;
  std::vector<uint32_t> tokens;  // generated tokens, counted from 0, some of whose text is now part of the answer
};

class Answer {
 public:
  // `tokenizer` must outlive this.
  Answer(const Tokenizer& tokenizer, const AnswerOptions& options);

  // Returns the text that is certain after this token; may be empty.
  AnswerPart push(TokenId id);
  // The text that was held back, at the end of the generation; call once, as the last call. `reason`: the engine's.
  AnswerPart finish(FinishReason reason);

  // The text has ended the answer, at a stop string or after its only call: later tokens are not part of it.
  bool is_stopped() const { return is_stopped_; }
  // Whether the answer ended at its token limit, or at the context's. Known after finish.
  bool is_cut() const;
  // Known after finish. kStop if the text has ended the answer.
  FinishReason reason() const { return reason_; }
  // The stop string that ended the answer; "": none.
  const std::string& stop_string() const { return detokenizer_.stop_string(); }
  bool has_calls() const { return has_calls_; }
  uint32_t n_tokens() const { return n_tokens_; }
  uint32_t n_reasoning_tokens() const { return n_reasoning_tokens_; }
  // For all tokens before this one it is known whether they are part of the answer.
  uint32_t first_open_token() const;

 private:
  void take_text(std::string text, AnswerPart& part);
  void take_events(std::string_view text, std::vector<OutputEvent> events, AnswerPart& part);
  void release_tokens(AnswerPart& part);

  StreamingDetokenizer detokenizer_;
  std::optional<OutputParser> parser_;
  const bool one_call_;
  bool is_stopped_ = false, has_calls_ = false, in_reasoning_;
  std::string content_begin_;  // until it was output
  FinishReason reason_ = FinishReason::kStop;
  uint32_t n_tokens_ = 0, n_reasoning_tokens_ = 0;
  // Tokens whose text is held back, since it may belong to a stop string, and the position of each in the text.
  struct HeldToken {
    uint32_t idx;
    size_t begin;
  };
  std::deque<HeldToken> held_tokens_;
  std::optional<ContentTokens> content_tokens_;  // instead of held_tokens_
  const bool tells_tokens_;
};

}  // namespace realizar::text
