// Builds one answer of the library: passes its text on as tokens arrive, and keeps it. One per generation.
#pragma once

#include <span>
#include <vector>

#include "realizar/text.h"
#include "text/answer.h"

namespace realizar {

// The parts of TextOptions that do not depend on the prompt.
struct TextPlan {
  text::AnswerOptions answer;
  bool has_parts = false;  // the answer is split by the marks of the model's template
};
// Errors: InvalidArgument for tools_json.
Result<TextPlan> plan_text(const TextOptions& options);

class TextBuilder {
 public:
  // `template_source`: the model's chat template. `prompt`: may end inside reasoning. `tokenizer` and `on_text`, which
  // may be empty, must outlive it.
  TextBuilder(const text::Tokenizer& tokenizer, const text::OutputFormat& format, std::span<const TokenId> prompt,
              const TextPlan& plan, const TextCallback& on_text);

  // False: no more tokens are wanted, because the text has ended the answer or the callback returned false.
  bool push(const TokenEvent& token);
  // The whole answer, after the engine has ended. If the callback returned false, the reason is kCancelled regardless
  // of the engine's.
  TextGeneration finish(Generation generation);

 private:
  bool tell(const std::vector<text::OutputEvent>& events, const TokenEvent* token);
  bool tell(const TextEvent& event);
  void keep(const text::OutputEvent& event);

  text::Answer answer_;
  const TextCallback& on_text_;
  bool is_refused_ = false;  // the callback has returned false, and is not called again
  TextGeneration result_{};
};

}  // namespace realizar
