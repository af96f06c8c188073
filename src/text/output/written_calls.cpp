#include "text/output/written_calls.h"

#include "text/json_text.h"
#include "text/output/formats/format.h"

namespace realizar::text {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : json_text(value);
}

std::string tagged_arguments(const Json& arguments, const ArgumentTags& tags) {
  std::string text;
  for (const auto& [key, value] : arguments.items()) {
    text += tags.key_open + key + tags.key_close + text_of(value) + tags.value_close;
  }
  return text;
}

std::string spelled(const WrittenCall& call, const CallSpelling& spelling) {
  const bool is_tagged = spelling.argument_tags && call.arguments.is_object();
  const std::string arguments =
      is_tagged ? tagged_arguments(call.arguments, *spelling.argument_tags) : text_of(call.arguments);
  return spelling.open + std::string(call.name) + spelling.name_end + arguments + spelling.close;
}

// name(key="text", n=2)
std::string as_function(const WrittenCall& call) {
  std::string text = std::string(call.name) + "(";
  if (!call.arguments.is_object()) return text + text_of(call.arguments) + ")";
  for (const auto& [key, value] : call.arguments.items()) {
    if (!text.ends_with('(')) text += ", ";
    text += key + "=" + json_text(value);
  }
  return text + ")";
}

}  // namespace

std::string written_calls(ToolFormat format, std::span<const WrittenCall> calls) {
  const FormatSpec& spec = *spec_of(format == ToolFormat::kNone ? ToolFormat::kHermes : format);
  const bool is_spelled = spec.required.has_value();
  std::string text = is_spelled ? spec.required->first : spec.markers.opening.front() + "[";
  const std::string between = is_spelled ? spec.required->between : ", ";
  for (size_t i = 0; i < calls.size(); ++i) {
    if (i > 0) text += between;
    text += is_spelled ? spelled(calls[i], *spec.required) : as_function(calls[i]);
  }
  return text + (is_spelled ? spec.required->last : "]" + spec.markers.inner.front());
}

}  // namespace realizar::text
