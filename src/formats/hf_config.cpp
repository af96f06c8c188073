#include "formats/hf_config.h"

#include <fmt/format.h>
#include <simdjson.h>

namespace realizar {
namespace {

namespace dom = simdjson::dom;
using ElementType = dom::element_type;

constexpr size_t kMaxDepth = 32;

template <class T>
std::vector<T> values_of(dom::array array) {
  std::vector<T> values;
  for (const dom::element element : array) values.push_back(T(element.get<T>().value_unsafe()));
  return values;
}

// Integers and floats may mix in one array: it is then one of floats.
std::vector<double> doubles_of(dom::array array) {
  std::vector<double> values;
  for (const dom::element element : array) values.push_back(element.get_double().value_unsafe());
  return values;
}

class Flattener {
 public:
  explicit Flattener(HfConfig& config) : config_(config) {}

  void add_object(const std::string& prefix, dom::object object) {
    for (const auto field : object) add(prefix + std::string(field.key), field.value);
  }

 private:
  void add(const std::string& key, dom::element element) {
    switch (element.type()) {
      case ElementType::OBJECT:
        return add_object(key + ".", element.get_object().value_unsafe());
      case ElementType::ARRAY:
        return config_.metadata.set(key, array_value(element.get_array().value_unsafe()));
      case ElementType::BOOL:
        return config_.metadata.set(key, element.get_bool().value_unsafe());
      case ElementType::INT64:
        return config_.metadata.set(key, element.get_int64().value_unsafe());
      case ElementType::UINT64:
        return config_.metadata.set(key, element.get_uint64().value_unsafe());
      case ElementType::DOUBLE:
        return config_.metadata.set(key, element.get_double().value_unsafe());
      case ElementType::STRING:
        return config_.metadata.set(key, std::string(element.get_string().value_unsafe()));
      case ElementType::NULL_VALUE:
        return;
    }
  }

  MetaValue array_value(dom::array array) {
    bool all_bool = true, all_int = true, all_number = true, all_string = true;
    for (const dom::element element : array) {
      all_bool &= element.is_bool();
      all_int &= element.is_int64();
      all_number &= element.is_number();
      all_string &= element.is_string();
    }
    if (all_int) return MetaArray(values_of<int64_t>(array));
    if (all_number) return MetaArray(doubles_of(array));
    if (all_bool) return MetaArray(values_of<bool>(array));
    if (all_string) return MetaArray(strings_of(array));
    return std::string(simdjson::minify(array));
  }

  std::vector<std::string_view> strings_of(dom::array array) {
    std::vector<std::string_view> views;
    for (const dom::element element : array) {
      views.push_back(config_.array_strings.emplace_back(element.get_string().value_unsafe()));
    }
    return views;
  }

  HfConfig& config_;
};

}  // namespace

Result<HfConfig> parse_hf_config(std::string_view json, std::string_view file) {
  dom::parser parser;
  dom::element root;
  if (parser.allocate(json.size(), kMaxDepth) != simdjson::SUCCESS) {
    return Error{ErrorCode::kResourceExhausted, fmt::format("{}: too large to parse", file), std::string(file)};
  }
  if (const auto error = parser.parse(simdjson::padded_string(json)).get(root); error != simdjson::SUCCESS) {
    return format_error(fmt::format("{}: not valid JSON: {}", file, simdjson::error_message(error)), std::string(file));
  }
  if (!root.is_object()) return format_error(fmt::format("{}: expected a JSON object", file), std::string(file));
  HfConfig config;
  Flattener(config).add_object("", root.get_object().value_unsafe());
  return config;
}

}  // namespace realizar
