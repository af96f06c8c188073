// How a chat model writes its calls, as data. It is found by rendering the model's chat template (template_output.h);
// formats/ has those of models that write otherwise than their templates do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace realizar::text {

// Around each argument, where arguments are written one by one: key_open KEY key_close VALUE value_close.
struct ArgumentTags {
  std::string key_open = {}, key_close = {}, value_close = {};
  std::string json_key_close = {};  // in place of key_close before a value that is no string; "": the same
  std::string between = {};         // between two arguments
  std::string quote = {};           // before and after a string; "": strings are bare text

  bool operator==(const ArgumentTags&) const = default;
};

struct CallForm {
  enum class Arguments : uint8_t {
    kInObject,     // a call is a JSON object with the name and the arguments
    kObjectAfter,  // a JSON object follows the name
    kTagged,       // one by one, in tags
    kLiteral,      // one by one, as programming languages write them: f(key="text", n=2)
    kMessage,      // a message whose header names the function (gpt-oss)
  };

  Arguments arguments = Arguments::kInObject;
  // As the model writes them: first CALL (between CALL)* last, where CALL is open NAME name_end ARGUMENTS close.
  std::string first = {}, open = {}, name_end = {}, close = {}, between = {}, last = {};
  std::optional<ArgumentTags> tags = {};  // kTagged, kLiteral
  bool is_single = false;                 // an answer has one call at most

  // Read beside the form itself:
  std::vector<std::string> other_openers = {};  // further marks with which calls begin
  std::vector<std::string> other_closers = {};
  std::string id_mark = {};      // from here on the name's text is the call's id
  std::string code_suffix = {};  // after the name of a call that is written as code: ".call"
  bool reads_literals = false;   // f(key="text") too
  bool reads_bare = false;       // without the marks too, where a line begins

  bool operator==(const CallForm&) const = default;
};

// The marks of a form, each without the white space around it.
struct CallMarks {
  std::vector<std::string> openers;  // stand before a call or before all of them
  std::string call_begin;            // the call's own first mark, which its reader takes: "<function="
  std::string name_prefix;           // plain text that may stand before the name: "functions."
  std::vector<std::string> name_end;
  std::vector<std::string> closers;  // stand after a call or after all of them
  bool is_bare = false;              // no mark says that calls begin
};
CallMarks marks_of(const CallForm& form);

// Whether a mark is a word and no tag.
bool is_plain(std::string_view mark);
// The marks in a text that stands before or after a call: "<tool_call>\n<function=" has two.
std::vector<std::string> split_marks(std::string_view text);

}  // namespace realizar::text
