// The marks of calls and thoughts in a chat model's output. Determined from its chat template (template_output.h),
// never from the model's name.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/types.h"
#include "text/output/call_form.h"

namespace realizar::text {

class Tokenizer;

// The tags that enclose a text.
struct TagPair {
  std::string begin;
  std::string end;
};

// Headers of messages name the channel: reasoning, answer or call.
struct Channels {
  std::string reasoning_header;    // a prompt that ends with it has reasoning open
  std::string answer_header;       // precedes the answer itself
  std::string reasoning_name;      // the channel's name in its header
  std::string next_channel;        // ends a message and begins the next one's header, before the channel's name
  std::string to_answer;           // ends a message and begins the answer
  std::string call_end;            // ends a call, and the answer with it
  std::vector<std::string> ends;   // of messages
  std::vector<std::string> inner;  // only occur inside headers
};

struct OutputFormat {
  std::optional<CallForm> calls = {};
  std::optional<TagPair> reasoning = {};  // empty if channels mark reasoning
  std::optional<TagPair> content_wrapper =
      {};  // tags around the answer itself, which are dropped: Command R7B, Granite
  std::optional<Channels> channels = {};
  std::vector<std::string> stray_marks = {};  // marks of results, which are never content
  std::vector<std::string> turn_marks = {};   // marks that are not content at the beginning or end of the answer
  bool is_general = false;  // the template shows no form of calls: they are parsed in one that most models know
};

// Finds the tags around thoughts and around the answer in `source`, a chat template's.
void find_tags(OutputFormat& format, std::string_view source);

// Whether the model's output separates reasoning from the answer.
bool marks_reasoning(const OutputFormat& format);
// For answers without tools: calls become text. Channels stay, since they mark more than calls.
void drop_tools(OutputFormat& format);
// Whether a prompt may end with the beginning of an answer. Answers in channels cannot be continued.
bool can_be_continued(const OutputFormat& format);

// When a grammar takes effect, for models that think first.
struct GrammarStart {
  std::string after = {};     // after this text in the answer; "": at once
  std::string may_open = {};  // at once, unless the answer begins with this token
  std::string close = {};     // written in place of an early end; ends with `after`
  std::string call_end = {};  // a token that ends the answer anyway: there is a call instead
};
// `in_reasoning`: the prompt has already opened it.
GrammarStart grammar_start(const OutputFormat& format, bool in_reasoning);
// The start for a grammar of required calls, which includes the calls' own header.
GrammarStart required_calls_start(const OutputFormat& format, bool in_reasoning);

// The beginning and end of reasoning in an answer, for code that ends it early.
struct ReasoningMarks {
  std::string begin;              // opens it: before the answer's first word, or, in channels, anywhere
  std::vector<std::string> ends;  // any of which ends it
  std::string close;              // text with which the model proceeds to the answer
  std::string not_after_close;    // a token that would open it again; "": none
  bool is_channel = false;
};
// Nullopt: nothing is marked.
std::optional<ReasoningMarks> reasoning_marks(const OutputFormat& format);

// Whether the rendered prompt ends inside reasoning, so that the model continues it.
bool prompt_opens_reasoning(const OutputFormat& format, std::string_view prompt);

// Whether the prompt ends with any model's opening mark of reasoning.
bool opens_any_reasoning(std::string_view prompt);

// The marks that the parser must see. If one is a special token of the vocabulary, it must be decoded to text.
std::vector<std::string> marker_strings(const OutputFormat& format);
// The marks that are special tokens of the vocabulary, or any other single token.
std::vector<TokenId> marker_tokens(const OutputFormat& format, const Tokenizer& tokenizer);

// Calls written in a model's format, for templates that do not print those of earlier turns.
struct WrittenCall {
  std::string_view name;
  const nlohmann::ordered_json& arguments;  // an object, or a text that is not JSON
};

// Uses the general form if the format has none.
std::string written_calls(const OutputFormat& format, std::span<const WrittenCall> calls);

}  // namespace realizar::text
