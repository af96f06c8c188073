#include "grammar/schema/document.h"

#include <fmt/format.h>

#include <charconv>

#include "base/encodings.h"
#include "base/try.h"

namespace realizar::grammar {
namespace {

constexpr int kMaxSchemaNesting = 128;
const Json kAnySchema = true;

int nesting_of(std::string_view text) {
  int nesting = 0, deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\') ++i;
    if (c == '"') in_string = !in_string;
    if (in_string) continue;
    if (c == '{' || c == '[') deepest = std::max(deepest, ++nesting);
    if (c == '}' || c == ']') --nesting;
  }
  return deepest;
}

// RFC 6901, sections 4 and 6: ~1 and ~0 for / and ~, %XX for bytes of a URI.
std::string unescaped(std::string_view token) {
  std::string out = percent_decoded(token);
  for (size_t at = out.find("~1"); at != std::string::npos; at = out.find("~1", at + 1)) out.replace(at, 2, "/");
  for (size_t at = out.find("~0"); at != std::string::npos; at = out.find("~0", at + 1)) out.replace(at, 2, "~");
  return out;
}

const Json* member(const Json& value, const std::string& name) {
  if (value.is_object()) {
    const auto found = value.find(name);
    return found == value.end() ? nullptr : &*found;
  }
  size_t index = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  const bool is_index = error == std::errc() && end == name.data() + name.size();
  return value.is_array() && is_index && index < value.size() ? &value[index] : nullptr;
}

}  // namespace

Result<SchemaDocument> SchemaDocument::parse(std::string_view text, const Limits& limits) {
  if (text.size() > limits.max_source_bytes) {
    return limit_exceeded(
        fmt::format("the schema has {} bytes; the limit is {}", text.size(), limits.max_source_bytes));
  }
  if (nesting_of(text) > kMaxSchemaNesting)
    return limit_exceeded(fmt::format("the schema nests deeper than {}", kMaxSchemaNesting));
  Json root = Json::parse(text, nullptr, false);
  if (root.is_discarded()) return invalid_argument("the schema is not valid JSON", "#");
  if (!is_schema(root)) return invalid_argument("the schema must be an object or a boolean", "#");
  SchemaDocument document;
  document.root_ = std::make_unique<const Json>(std::move(root));
  document.add_names(*document.root_);
  return document;
}

// The first schema with a name gets it.
void SchemaDocument::add_names(const Json& schema) {
  if (!schema.is_object()) return;
  for (const auto& [keyword, mark] : {std::pair("$anchor", "#"), {"$id", ""}, {"id", ""}}) {
    const auto name = schema.find(keyword);
    if (name != schema.end() && name->is_string()) named_.try_emplace(mark + name->get<std::string>(), &schema);
  }
  for (const Json* part : subschemas(schema)) add_names(*part);
}

Result<const Json*> SchemaDocument::resolve(const std::string& ref, const std::string& path, LeftOut& left_out) const {
  if (ref == "#" || ref.starts_with("#/")) return at_pointer(*root_, ref, ref, path);
  if (const auto named = named_.find(ref); named != named_.end()) return named->second;
  const size_t pointer = std::min(ref.find('#'), ref.size());
  const auto named = named_.find(ref.substr(0, pointer));
  if (named != named_.end()) return at_pointer(*named->second, std::string_view(ref).substr(pointer), ref, path);
  RZ_CHECK_OK(left_out.take(unsupported(
      fmt::format("{}: \"$ref\" to \"{}\": only references inside the schema, \"#/...\", are supported", path, ref),
      path_to(path, "$ref"))));
  return &kAnySchema;
}

Result<const Json*> SchemaDocument::at_pointer(const Json& from, std::string_view pointer, const std::string& ref,
                                               const std::string& path) const {
  const std::string own_path = path_to(path, "$ref");
  const Json* at = &from;
  for (size_t begin = 1; begin < pointer.size();) {
    const size_t end = std::min(pointer.find('/', begin + 1), pointer.size());
    at = member(*at, unescaped(pointer.substr(begin + 1, end - begin - 1)));
    if (at == nullptr) {
      return invalid_argument(fmt::format("{}: \"$ref\" to \"{}\", which is not there", path, ref), own_path);
    }
    begin = end;
  }
  if (is_schema(*at)) return at;
  return invalid_argument(fmt::format("{}: \"$ref\" to \"{}\", which is not a schema", path, ref), own_path);
}

}  // namespace realizar::grammar
