// One answer of the library: its text is told as its tokens come, and kept. One per generation.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "realizar/text.h"
#include "text/answer.h"

namespace realizar {

// What TextOptions ask for, save what depends on the prompt.
struct TextPlan {
  text::AnswerOptions answer;
  bool has_parts = false;  // the answer is split as the model's template marks its parts
};
// Errors: InvalidArgument for tools_json.
Result<TextPlan> plan_text(const TextOptions& options);

class TextBuilder {
 public:
  // `template_source`: of the model's chat template. `prompt`: may end with reasoning opened. `tokenizer` and
  // `on_text`, which may be empty, must outlive it.
  TextBuilder(const text::Tokenizer& tokenizer, const text::OutputFormat& format, std::span<const TokenId> prompt,
              const TextPlan& plan, const TextCallback& on_text);

  // False where no more is wanted: the text has ended the answer, or the callback has.
  bool push(const TokenEvent& token);
  // Everything, once the engine has ended. Whatever its reason, an answer that the callback refused was cancelled.
  TextGeneration finish(Generation generation);

 private:
  bool tell(const std::vector<text::OutputEvent>& events, const TokenEvent* token);
  bool tell(const TextEvent& event);
  void keep(const text::OutputEvent& event);

  text::Answer answer_;
  const TextCallback& on_text_;
  bool is_refused_ = false;  // the callback has given false, and is not called again
  TextGeneration result_{};
};

}  // namespace realizar
