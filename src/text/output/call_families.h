// The readers of calls that formats share, one a family; what differs within a family is data.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/output/call_reader.h"

namespace realizar::text {

using CallReaderPtr = std::unique_ptr<CallReader>;

// JSON objects with a name and arguments, one or a list of them.
struct JsonForm {
  std::string closing = {};  // ends the section; may be empty
  bool is_bare = false;      // no marker says that an object is a call: one with any member that calls lack is none
};
CallReaderPtr make_json_calls(JsonForm form, TextWindow& window, CallEmitter& emitter);

// The function's name, a marker, and a JSON object.
struct NamedForm {
  std::string call_begin;        // may be empty: then a section is one call
  std::string name_end;          // between name and arguments
  std::string call_end;          // may be empty
  std::string section_end;       // may be empty
  std::string name_suffix;       // from here on the name's text is not the name
  bool has_typed_calls = false;  // a type may stand before name_end, then name and fenced arguments
};
CallReaderPtr make_named_calls(NamedForm form, TextWindow& window, CallEmitter& emitter);

// Arguments one by one between tags.
struct XmlForm {
  std::string name_begin;      // may be empty
  std::string_view name_ends;  // any of these bytes ends the name
  bool takes_name_end;
  std::string key_begin;
  std::string key_end;
  std::string value_begin;  // may be empty: the value follows the key
  std::string value_end;
  std::string call_end;
  std::string section_end;   // may be empty
  bool value_has_own_lines;  // a newline after the value's begin and one before its end belong to the tags
};
CallReaderPtr make_xml_calls(XmlForm form, TextWindow& window, CallEmitter& emitter);

// A name and arguments as a programming language writes them.
struct LiteralStyle {
  char open;  // around the arguments
  char close;
  char assign;  // between an argument's name and its value; inside nested objects it is a colon
  std::vector<std::string_view> quotes;
  bool has_escapes;
};
struct LiteralForm {
  LiteralStyle style;
  std::string name_prefix = {};
  std::string name_suffix = {};
  std::string closing = {};  // of the section; may be empty
};
CallReaderPtr make_literal_calls(LiteralForm form, TextWindow& window, CallEmitter& emitter);
LiteralStyle python_style();  // (key="text", n=2)

// Formats with two spellings: JSON, or another one that begins with no bracket.
CallReaderPtr make_json_or(CallReaderPtr other, JsonForm form, TextWindow& window, CallEmitter& emitter);

}  // namespace realizar::text
