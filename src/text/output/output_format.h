// How a chat model marks calls and thoughts in what it writes. Read from its chat template (template_output.h), never
// from the model's name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/types.h"
#include "text/output/call_form.h"

namespace realizar::text {

class Tokenizer;

// The tags around a text.
struct TagPair {
  std::string begin;
  std::string end;
};

// Headers of messages name the channel: what is reasoning, what is the answer, what is a call.
struct Channels {
  std::string reasoning_header;    // a prompt that ends with it leaves the reasoning open
  std::string answer_header;       // comes before the answer itself
  std::string reasoning_name;      // the channel's, which its header holds
  std::string next_channel;        // ends a message and begins the next one's header, up to the channel's name
  std::string to_answer;           // ends a message and begins the answer
  std::string call_end;            // ends a call, and the answer with it
  std::vector<std::string> ends;   // of messages
  std::vector<std::string> inner;  // stand only inside of headers
};

struct OutputFormat {
  std::optional<CallForm> calls = {};
  std::optional<TagPair> reasoning = {};  // empty where channels say what is reasoning
  std::optional<TagPair> content_wrapper =
      {};  // tags around the answer itself, which are dropped: Command R7B, Granite
  std::optional<Channels> channels = {};
  std::vector<std::string> stray_marks = {};  // of results, which are never content
  std::vector<std::string> turn_marks = {};   // which are no content where the answer begins and where it ends
  bool is_general = false;  // the template shows no form of calls: they are read in one that most models know
};

// The tags that `source`, a chat template's, has around thoughts and around the answer.
void find_tags(OutputFormat& format, std::string_view source);

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
  std::string close = {};     // written in place of an end that comes before it; ends with `after`
  std::string call_end = {};  // token that ends the answer even so: a call stands in its place
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

// Whether the prompt ends with any model's mark of opened reasoning.
bool opens_any_reasoning(std::string_view prompt);

// The marks that the parser must see. Where the vocabulary has one as a special token, it must be decoded to text.
std::vector<std::string> marker_strings(const OutputFormat& format);
// Those that are special tokens of the vocabulary, or any other token.
std::vector<TokenId> marker_tokens(const OutputFormat& format, const Tokenizer& tokenizer);

}  // namespace realizar::text
