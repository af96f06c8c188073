#include "server/call/custom_tools.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/printable.h"
#include "base/try.h"
#include "grammar/lark.h"
#include "grammar/pattern.h"
#include "grammar/rule_book.h"

namespace realizar::server {
namespace {

struct InputFormat {
  std::shared_ptr<const grammar::RuleSet> rules;
  std::string described = "The tool's input, as plain text.";  // description for the model
};

Result<InputFormat> read_input_grammar(const Json& format, const std::string& place) {
  Fields fields(format, place + ".");
  const auto syntax = fields.text("syntax"), definition = fields.text("definition");
  if (!fields.status().ok()) return fields.status().error();
  if (!definition) return wrong(place + ".definition", "expected a string");
  if (syntax == "regex") {
    grammar::RuleBook book;
    RZ_TRY(const grammar::ExprId text, grammar::regex_in_text(book, *definition, place + ".definition"));
    const grammar::RuleId root = book.named("root");
    book.define(root, text);
    return InputFormat{std::make_shared<const grammar::RuleSet>(book.take(root)),
                       "A text that matches this regular expression as a whole: " + *definition};
  }
  if (syntax != "lark") return wrong(place + ".syntax", "expected lark or regex");
  RZ_TRY(grammar::RuleSet rules, grammar::parse_lark(*definition, place + ".definition"));
  return InputFormat{std::make_shared<const grammar::RuleSet>(std::move(rules)),
                     "A text of this Lark grammar:\n" + *definition};
}

Result<InputFormat> read_input_format(const Json& format, const std::string& place) {
  if (format.is_null()) return InputFormat();
  if (!format.is_object()) return wrong(place, "expected an object");
  const Json type = format.value("type", Json());
  if (type == "text") return InputFormat();
  if (type != "grammar") return wrong(place + ".type", "expected text or grammar");
  const Json inner = format.value("grammar", Json());
  return inner.is_object() ? read_input_grammar(inner, place + ".grammar") : read_input_grammar(format, place);
}

uint32_t hex_at(std::string_view text, size_t at) {
  uint32_t code = 0;
  for (size_t i = at; i < at + 4; ++i) {
    const char c = text[i];
    code = code * 16 + static_cast<uint32_t>(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
  }
  return code;
}

// The number of bytes of the first character in a JSON string, including its escape; 0: incomplete.
size_t n_character_bytes(std::string_view text) {
  if (text[0] != '\\') return 1;
  if (text.size() < 2) return 0;
  if (text[1] != 'u') return 2;
  if (text.size() < 6) return 0;
  const uint32_t code = hex_at(text, 2);
  const bool is_high_surrogate = code >= 0xD800 && code < 0xDC00;
  const bool may_be_pair = text.size() < 8 || (text[6] == '\\' && text[7] == 'u');
  if (!is_high_surrogate || !may_be_pair) return 6;
  return text.size() < 12 ? 0 : 12;
}

}  // namespace

Result<ChatTool> read_custom_tool(const Json& custom, const std::string& where) {
  if (!custom.is_object()) return wrong(where, "expected an object");
  Fields fields(custom, where + ".");
  const std::string description = fields.text("description").value_or("");
  if (!fields.status().ok()) return fields.status().error();
  RZ_TRY(InputFormat format, read_input_format(custom.value("format", Json()), where + ".format"));
  const Json input{{"type", "string"}, {"description", format.described}};
  const Json parameters{
      {"type", "object"}, {"properties", {{kCustomInput, input}}}, {"required", Json::array({kCustomInput})}};
  const Json function{{"name", custom.value("name", Json())}, {"description", description}, {"parameters", parameters}};
  Json tool{{"type", "function"}, {"function", function}};
  RZ_TRY(text::ToolSpec spec, text::read_tool_spec(tool, where));
  return ChatTool{std::move(spec), std::move(tool), where, true, true, std::move(format.rules)};
}

std::string CustomInput::push(const std::string& arguments) {
  if (state_ == State::kAfter) return {};
  held_ += arguments;
  if (state_ == State::kOther) return std::exchange(held_, {});
  if (state_ == State::kBefore) {
    static const std::string kBegin = std::string("{\"") + kCustomInput + "\":\"";
    // White space only occurs outside of strings, and the name contains none.
    size_t at = 0, n_matched = 0;
    while (at < held_.size() && n_matched < kBegin.size()) {
      const char c = held_[at++];
      if (c == kBegin[n_matched]) {
        ++n_matched;
      } else if (std::string_view(" \t\r\n").find(c) == std::string_view::npos) {
        state_ = State::kOther;
        return std::exchange(held_, {});
      }
    }
    if (n_matched < kBegin.size()) return {};
    held_.erase(0, at);
    state_ = State::kInside;
  }
  return decoded();
}

// Takes whole characters from the held text; the closing quote ends it.
std::string CustomInput::decoded() {
  size_t end = 0;
  bool is_closed = false;
  while (end < held_.size() && !is_closed) {
    is_closed = held_[end] == '"';
    const size_t n_bytes = is_closed ? 0 : n_character_bytes(std::string_view(held_).substr(end));
    if (n_bytes == 0) break;
    end += n_bytes;
  }
  const auto text = parse_json("[\"" + held_.substr(0, end) + "\"]");
  held_.erase(0, end);
  if (is_closed) {
    state_ = State::kAfter;
    held_.clear();
  }
  return text.ok() ? text->front().get<std::string>() : std::string();
}

std::string CustomInput::finish() {
  const bool is_text = state_ == State::kInside || state_ == State::kAfter;
  return is_text ? std::string() : std::exchange(held_, {});
}

}  // namespace realizar::server
