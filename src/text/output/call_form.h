// The syntax in which a chat model writes its calls, as data. It is determined by rendering the model's chat template
// (template_output.h); formats/ has those of models whose templates differ from what they write.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace realizar::text {

// Tags of each argument, if arguments are written one by one: key_open KEY key_close VALUE value_close.
struct ArgumentTags {
  std::string key_open = {}, key_close = {}, value_close = {};
  std::string json_key_close = {};  // used instead of key_close before a value that is not a string; "": the same
  std::string between = {};         // separates arguments
  std::string quote = {};           // encloses a string; "": strings are plain text

  bool operator==(const ArgumentTags&) const = default;
};

struct CallForm {
  enum class Arguments : uint8_t {
    kInObject,     // a call is a JSON object with the name and the arguments
    kObjectAfter,  // a JSON object follows the name
    kTagged,       // one by one, in tags
    kLiteral,      // one by one, in programming language syntax: f(key="text", n=2)
    kMessage,      // a message whose header names the function (gpt-oss)
  };

  Arguments arguments = Arguments::kInObject;
  // The model's text: first CALL (between CALL)* last, where CALL is open NAME name_end ARGUMENTS close.
  std::string first = {}, open = {}, name_end = {}, close = {}, between = {}, last = {};
  std::optional<ArgumentTags> tags = {};  // kTagged, kLiteral
  bool is_single = false;                 // an answer has at most one call

  // Accepted in addition to the form itself:
  std::vector<std::string> other_openers = {};  // additional marks with which calls begin
  std::vector<std::string> other_closers = {};
  std::string id_mark = {};      // the rest of the name's text, from this mark on, is the call's id
  std::string code_suffix = {};  // follows the name of a call in code syntax: ".call"
  bool reads_literals = false;   // also f(key="text")
  bool reads_bare = false;       // also without the marks, at the beginning of a line

  bool operator==(const CallForm&) const = default;
};

// The marks of a form, without surrounding white space.
struct CallMarks {
  std::vector<std::string> openers;  // precede a call or all of them
  std::string call_begin;            // the call's own first mark, which its reader consumes: "<function="
  std::string name_prefix;           // plain text that may precede the name: "functions."
  std::vector<std::string> name_end;
  std::vector<std::string> closers;  // follow a call or all of them
  bool is_bare = false;              // no mark announces calls
};
CallMarks marks_of(const CallForm& form);

// Whether a mark is a word rather than a tag.
bool is_plain(std::string_view mark);
// The marks in the text before or after a call: "<tool_call>\n<function=" has two.
std::vector<std::string> split_marks(std::string_view text);

}  // namespace realizar::text
