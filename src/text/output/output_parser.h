// Splits a chat model's output, while it arrives, into reasoning, content and tool calls.
//
// Pieces may be cut anywhere between characters: the events, joined, are the same for every cutting. Text is held back
// only if it may be the beginning of a marker, or is white space before a possible marker. One per sequence; not
// thread-safe. Never fails: text that does not parse as a call is content, byte for byte. The rules:
// - White space directly before and after a call and around reasoning belongs to the format and is dropped. Reasoning
//   that is only white space gives no event.
// - Reasoning opens before the answer's first word and wherever its mark occurs later, except where a text mentions the
//   mark: after a space or a quote. Its marks are never content. A call inside it is reasoning, unless the reasoning
//   never ends and the call is complete and names a tool.
// - A call begins with its name, once that is known and its arguments have begun. Until then its text is held, and is
//   content if it turns out not to be a call; it is not searched for further calls. The name need not be one of
//   `tools`,
//   but it must be a valid tool name; where no mark announces a call, a name that is not a tool's begins one only if
//   the whole text has a call's form and begins the answer.
// - Arguments are written as JSON that is valid once the call has ended. If a begun call's text cannot be continued,
//   its JSON is closed: strings and brackets are completed, a member without a value becomes null, an incomplete
//   argument of an XML-like format that is not a string is left out. The text from there on is content.
// - If the text ends within a call's arguments they stay as they are, and the call has no end. Text that may have
//   become a call is dropped if the answer was cut, and else is content.
// - Memory is bounded by the text given, nesting by JsonValueReader::kMaxDepth.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/text.h"
#include "text/output/output_format.h"
#include "text/output/tool_spec.h"

namespace realizar::text {

struct OutputEvent {
  using Kind = TextKind;
  Kind kind = Kind::kContent;
  size_t call_idx = 0;  // for calls: 0, 1, 2 in order
  std::string text;     // the reasoning, the content, the call's name, or a piece of its arguments' JSON

  bool operator==(const OutputEvent&) const = default;
};

class OutputParser {
 public:
  // Without tools, tool markup is content. `starts_in_reasoning`: see prompt_opens_reasoning.
  OutputParser(const OutputFormat& format, std::vector<ToolSpec> tools, bool starts_in_reasoning);
  ~OutputParser();
  OutputParser(OutputParser&&) noexcept;
  OutputParser& operator=(OutputParser&&) noexcept;

  // `text` is valid UTF-8. Adjacent events of the same kind are joined.
  std::vector<OutputEvent> push(std::string_view text);
  // The text that was held back, at the end of the generation; call once, as the last call.
  // `is_cut`: ended by a limit, not by the model.
  std::vector<OutputEvent> finish(bool is_cut = false);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace realizar::text
