// How a chat model spells tool calls and reasoning in what it writes. Chosen by what the source of its chat template
// contains, never by the model's name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/types.h"

namespace realizar::text {

class Tokenizer;

// formats/ has a file for each.
enum class ToolFormat {
  kNone,
  kHermes,
  kLlama3Json,
  kMistral,
  kDeepSeek,
  kGptOss,
  kQwen3Coder,
  kGlm,
  kKimi,
  kCohere,
  kGranite,
  kGemma,
  kLfm2,
};

// The tags around a text.
struct TagPair {
  std::string begin;
  std::string end;
};

struct OutputFormat {
  ToolFormat tools = ToolFormat::kNone;
  std::optional<TagPair> reasoning = {};  // empty where channels say what is reasoning
  std::optional<TagPair> content_wrapper =
      {};  // tags around the answer itself, which are dropped: Command R7B, Granite
};

OutputFormat detect_output_format(std::string_view template_source);

// Whether what the model writes tells reasoning from the answer.
bool marks_reasoning(const OutputFormat& format);
// For answers without tools: calls become text. Channels stay, since they tell more than calls.
void drop_tools(OutputFormat& format);
// Whether a prompt may end with the beginning of an answer. Those in channels cannot be continued.
bool can_be_continued(const OutputFormat& format);

// When a grammar begins to bind, for models that think first.
struct GrammarStart {
  std::string after = {};     // once the answer holds this text; "": at once
  std::string may_open = {};  // or, at once, unless the answer begins with this token
};
// `in_reasoning`: the prompt opened it already.
GrammarStart grammar_start(const OutputFormat& format, bool in_reasoning);
// The start for a grammar of required calls, which holds the calls' own header.
GrammarStart required_calls_start(const OutputFormat& format, bool in_reasoning);

// How reasoning begins and ends in an answer, for whoever ends it early.
struct ReasoningMarks {
  std::string begin;              // opens it: before the answer's first word, or, in channels, anywhere
  std::vector<std::string> ends;  // any of which ends it
  std::string close;              // what the model writes to go on with the answer
  std::string not_after_close;    // a token that would open it again; "": none does
  bool is_channel = false;
};
// Nullopt: nothing is marked.
std::optional<ReasoningMarks> reasoning_marks(const OutputFormat& format);

// Whether the rendered prompt ends with reasoning opened, so that the model writes on inside it.
bool prompt_opens_reasoning(const OutputFormat& format, std::string_view prompt);

// The same for any mark of reasoning that some model has.
bool opens_any_reasoning(std::string_view prompt);

// The markers that the parser must see. Where the vocabulary has one as a special token, it must be decoded to text.
std::vector<std::string> marker_strings(const OutputFormat& format);
// Those that are special tokens of the vocabulary, or any other token.
std::vector<TokenId> marker_tokens(const OutputFormat& format, const Tokenizer& tokenizer);

}  // namespace realizar::text
