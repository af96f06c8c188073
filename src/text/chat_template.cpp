#include "text/chat_template.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "text/jinja/ast.h"
#include "text/jinja/interpreter.h"
#include "text/template_output.h"
#include "text/utf8.h"

namespace realizar::text {
namespace {

using namespace jinja;
using Json = nlohmann::ordered_json;

constexpr int kMaxJsonDepth = 100;
constexpr std::array<std::string_view, 3> kInputVariables = {"messages", "tools", "documents"};

Value to_value(const Json& json, bool is_input, int depth) {
  if (depth > kMaxJsonDepth) throw TemplateError{"the conversation is nested too deep", true};
  switch (json.type()) {
    case Json::value_t::boolean:
      return json.get<bool>();
    case Json::value_t::number_integer:
      return json.get<int64_t>();
    case Json::value_t::number_unsigned:
      return json.get<uint64_t>() <= INT64_MAX ? Value(json.get<int64_t>()) : Value(json.get<double>());
    case Json::value_t::number_float:
      return json.get<double>();
    case Json::value_t::string:
      return Text(replace_invalid_utf8(json.get_ref<const std::string&>()), is_input);
    case Json::value_t::array: {
      std::vector<Value> items;
      for (const Json& item : json) items.push_back(to_value(item, is_input, depth + 1));
      return std::make_shared<List>(List{.items = std::move(items), .is_given = true});
    }
    case Json::value_t::object: {
      std::vector<std::pair<Value, Value>> items;
      for (const auto& [key, value] : json.items())
        items.emplace_back(Text(key, is_input), to_value(value, is_input, depth + 1));
      const auto dict = make_dict(std::move(items)).dict();
      dict->is_given = true;
      return dict;
    }
    default:
      return None{};
  }
}

std::vector<PromptPiece> pieces_of(const Text& text) {
  std::vector<PromptPiece> pieces;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin + 1;
    while (end < text.size() && text.is_input_at(end) == text.is_input_at(begin)) ++end;
    pieces.push_back({text.str().substr(begin, end - begin), text.is_input_at(begin)});
    begin = end;
  }
  return pieces;
}

}  // namespace

struct ChatTemplate::Impl {
  explicit Impl(std::string text) : source(std::move(text)), body(jinja::parse(source)) {}

  std::string source;
  Body body;
  std::once_flag is_asked, is_output_asked;
  TemplateTraits traits;
  OutputFormat output_format;
};

ChatTemplate::ChatTemplate(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

Result<ChatTemplate> ChatTemplate::parse(std::string_view source) {
  try {
    return ChatTemplate(std::make_unique<Impl>(replace_invalid_utf8(source)));
  } catch (const TemplateError& error) {
    return format_error("chat template: " + error.message, "chat_template");
  }
}

Result<std::vector<PromptPiece>> ChatTemplate::render(const Json& variables, int64_t now_unix_s) const {
  try {
    const auto globals = std::make_shared<Scope>();
    add_globals(*globals);
    for (const auto& [name, value] : variables.items()) {
      const bool is_input = std::find(kInputVariables.begin(), kInputVariables.end(), name) != kInputVariables.end();
      globals->variables.insert_or_assign(name, to_value(value, is_input, 0));
    }
    return pieces_of(Interpreter(globals, now_unix_s).run(impl_->body));
  } catch (const TemplateError& error) {
    const ErrorCode code = error.is_limit ? ErrorCode::kUnsupported : ErrorCode::kInvalidArgument;
    return Error{code, "chat template: " + error.message, "chat_template"};
  }
}

const TemplateTraits& ChatTemplate::traits() const {
  std::call_once(impl_->is_asked, [this] { impl_->traits = ask_traits(*this); });
  return impl_->traits;
}

const OutputFormat& ChatTemplate::output_format() const {
  std::call_once(impl_->is_output_asked, [this] { impl_->output_format = ask_output(*this, traits(), impl_->source); });
  return impl_->output_format;
}

}  // namespace realizar::text
