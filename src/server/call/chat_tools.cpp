#include "server/call/chat_tools.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/printable.h"
#include "base/try.h"
#include "grammar/lark.h"
#include "grammar/pattern.h"
#include "grammar/rule_book.h"

namespace realizar::server {
namespace {

using Mode = ToolChoice::Mode;

bool is_custom_choice(const Json& choice) {
  return choice.is_object() && choice.value("type", Json()) == "custom";
}

// The name in {"type": "function", "function": {"name": ...}}, or likewise for a custom one.
Result<std::string> chosen_name(const Json& choice, const std::string& field) {
  const char* member = is_custom_choice(choice) ? "custom" : "function";
  // In the Responses API's form, the name is next to the type.
  const bool is_flat = choice.is_object() && !choice.contains(member) && choice.contains("type");
  const Json chosen = is_flat ? choice : choice.is_object() ? choice.value(member, Json()) : Json();
  const Json name = chosen.is_object() ? chosen.value("name", Json()) : Json();
  if (!name.is_string()) return wrong_tool_choice(field);
  return name.get<std::string>();
}

Result<std::optional<std::string>> allowed_name(const Json& tool, const std::string& field) {
  const bool is_callable =
      !tool.is_object() || is_custom_choice(tool) || tool.value("type", Json("function")) == "function";
  if (!is_callable) return std::optional<std::string>();
  RZ_TRY(std::string name, chosen_name(tool, field));
  return std::optional(std::move(name));
}

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

std::vector<text::ToolSpec> ChatTools::specs() const {
  std::vector<text::ToolSpec> specs;
  for (const ChatTool& tool : tools) specs.push_back(tool.spec);
  return specs;
}

std::vector<text::RequiredTool> ChatTools::callable() const {
  std::vector<text::RequiredTool> callable;
  for (const ChatTool& tool : tools) {
    if (!only.empty() && tool.spec.name != only) continue;
    callable.push_back({&tool.spec, tool.place, tool.is_strict, tool.input.get()});
  }
  return callable;
}

std::vector<std::string> ChatTools::custom_names() const {
  std::vector<std::string> names;
  for (const ChatTool& tool : tools) {
    if (tool.is_custom) names.push_back(tool.spec.name);
  }
  return names;
}

bool ChatTools::has_input_grammar() const {
  return std::ranges::any_of(tools, [](const ChatTool& tool) { return tool.input != nullptr; });
}

Status ChatTools::choose(const ToolChoice& choice) {
  const auto check_known = [&](const std::string& name) -> Status {
    const bool is_known = std::ranges::any_of(tools, [&](const ChatTool& tool) { return tool.spec.name == name; });
    if (!is_known) return wrong(choice.field, "there is no tool '" + shown(name) + "'");
    return {};
  };
  if (choice.mode == ToolChoice::Mode::kNone) tools.clear();
  if (!choice.only.empty()) RZ_CHECK_OK(check_known(choice.only));
  if (choice.allowed) {
    for (const std::string& name : *choice.allowed) RZ_CHECK_OK(check_known(name));
    std::erase_if(tools, [&](const ChatTool& tool) {
      return std::ranges::find(*choice.allowed, tool.spec.name) == choice.allowed->end();
    });
  }
  must_call = choice.mode == ToolChoice::Mode::kRequired;
  only = choice.only;
  if (must_call && tools.empty()) return wrong(choice.field, "needs tools that can be called");
  return {};
}

Result<ChatTool> read_function_tool(Json tool, const std::string& where) {
  RZ_TRY(text::ToolSpec spec, text::read_tool_spec(tool, where));
  Fields fields(tool["function"], where + ".");
  const bool is_strict = fields.boolean("strict").value_or(false);
  if (!fields.status().ok()) return fields.status().error();
  return ChatTool{std::move(spec), std::move(tool), where + ".parameters", is_strict};
}

Error wrong_tool_choice(const std::string& field) {
  return wrong(field,
               "expected none, auto, required, {type: function, function: {name}}, {type: custom, custom: {name}} or "
               "{type: allowed_tools, allowed_tools: {mode, tools}}");
}

Result<ToolChoice> read_allowed_tools(const Json& allowed, const std::string& field, const ToolNameReader& name_of) {
  const Json mode = allowed.is_object() ? allowed.value("mode", Json()) : Json();
  const Json list = allowed.is_object() ? allowed.value("tools", Json()) : Json();
  if ((mode != "auto" && mode != "required") || !list.is_array()) return wrong_tool_choice(field);
  ToolChoice choice{mode == "auto" ? Mode::kAuto : Mode::kRequired, std::vector<std::string>(), "", field};
  for (const Json& tool : list) {
    RZ_TRY(auto name, name_of(tool));
    if (name) choice.allowed->push_back(std::move(*name));
  }
  return choice;
}

Result<ToolChoice> read_tool_choice(const Json& choice, const std::string& field) {
  ToolChoice read{.field = field};
  if (choice == "auto") return read;
  read.mode = choice == "none" ? Mode::kNone : Mode::kRequired;
  if (choice == "none" || choice == "required" || choice == "any") return read;  // spelled "any" by Mistral's clients
  if (choice.is_object() && choice.value("type", Json()) == "allowed_tools") {
    return read_allowed_tools(choice.value("allowed_tools", Json()), field,
                              [&](const Json& tool) { return allowed_name(tool, field); });
  }
  RZ_TRY(read.only, chosen_name(choice, field));
  return read;
}

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
