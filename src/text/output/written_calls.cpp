#include "text/output/written_calls.h"

#include "text/json_text.h"
#include "text/output/formats/format.h"

namespace realizar::text {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : json_text(value);
}

std::string value_text(const Json& value, const ArgumentTags& tags) {
  if (!value.is_string() || tags.quote == "\"") return json_text(value);
  return tags.quote + value.get<std::string>() + tags.quote;
}

std::string tagged_arguments(const Json& arguments, const ArgumentTags& tags) {
  std::string text;
  for (const auto& [key, value] : arguments.items()) {
    const bool is_json = !value.is_string() && !tags.json_key_close.empty();
    if (!text.empty()) text += tags.between;
    text += tags.key_open + key + (is_json ? tags.json_key_close : tags.key_close);
    text += value_text(value, tags) + tags.value_close;
  }
  return text;
}

std::string spelled(const WrittenCall& call, const CallForm& form) {
  const bool is_tagged = form.tags && call.arguments.is_object();
  const std::string arguments = is_tagged ? tagged_arguments(call.arguments, *form.tags) : text_of(call.arguments);
  return form.open + std::string(call.name) + form.name_end + arguments + form.close;
}

}  // namespace

std::string written_calls(const OutputFormat& format, std::span<const WrittenCall> calls) {
  const CallForm& form = format.calls ? *format.calls : *general_format().calls;
  std::string text = form.first;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (i > 0) text += form.between;
    text += spelled(calls[i], form);
  }
  return text + form.last;
}

}  // namespace realizar::text
