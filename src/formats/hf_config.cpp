#include "formats/hf_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/plain_json.h"
#include "base/try.h"

namespace realizar {
namespace {

using nlohmann::json;

bool is_int64(const json& value) {
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
  return value.is_number_unsigned() ? value.get<uint64_t>() <= kMax : value.is_number_integer();
}

class Flattener {
 public:
  explicit Flattener(HfConfig& config) : config_(config) {}

  void add_object(const std::string& prefix, const json& object) {
    for (const auto& [key, value] : object.items()) add(prefix + key, value);
  }

 private:
  void add(const std::string& key, const json& value) {
    if (value.is_object()) return add_object(key + ".", value);
    if (value.is_array()) return config_.metadata.set(key, array_value(value));
    if (value.is_boolean()) return config_.metadata.set(key, value.get<bool>());
    if (is_int64(value)) return config_.metadata.set(key, value.get<int64_t>());
    if (value.is_number_unsigned()) return config_.metadata.set(key, value.get<uint64_t>());
    if (value.is_number()) return config_.metadata.set(key, value.get<double>());
    if (value.is_string()) return config_.metadata.set(key, value.get<std::string>());
  }

  // An array may mix integers and floats: it is then one of floats.
  MetaValue array_value(const json& array) {
    const auto all = [&](auto is_kind) { return std::all_of(array.begin(), array.end(), is_kind); };
    if (all(is_int64)) return MetaArray(array.get<std::vector<int64_t>>());
    if (all([](const json& value) { return value.is_number(); })) return MetaArray(array.get<std::vector<double>>());
    if (all([](const json& value) { return value.is_boolean(); })) return MetaArray(array.get<std::vector<bool>>());
    if (all([](const json& value) { return value.is_string(); })) return MetaArray(strings_of(array));
    return array.dump();
  }

  std::vector<std::string_view> strings_of(const json& array) {
    std::vector<std::string_view> views;
    for (const json& value : array) views.push_back(config_.array_strings.emplace_back(value.get<std::string>()));
    return views;
  }

  HfConfig& config_;
};

constexpr int kMaxJsonDepth = 32;

}  // namespace

Result<HfConfig> parse_hf_config(std::string_view text, std::string_view file) {
  RZ_TRY(json root, parse_json_object(text, file));
  if (const auto own = root.find("text_config"); own != root.end() && own->is_object()) {
    json text_config = *own;
    for (const char* name : {"architectures", "model_type"}) text_config.erase(name);
    root.erase(own);
    root.update(text_config);
  }
  HfConfig config;
  Flattener(config).add_object("", root);
  return config;
}

Result<json> parse_json_object(std::string_view text, std::string_view file) {
  bool too_deep = false;
  // Returning false drops the value, so that nothing deeper is ever built.
  const auto keep = [&](int depth, json::parse_event_t, json&) {
    too_deep |= depth > kMaxJsonDepth;
    return depth <= kMaxJsonDepth;
  };
  json root = json::parse(plain_json(text), keep, /*allow_exceptions=*/false);
  if (too_deep) {
    return format_error(fmt::format("{}: expected JSON of at most {} levels", file, kMaxJsonDepth), std::string(file));
  }
  if (root.is_discarded()) return format_error(fmt::format("{}: not valid JSON", file), std::string(file));
  if (!root.is_object()) return format_error(fmt::format("{}: expected a JSON object", file), std::string(file));
  return root;
}

}  // namespace realizar
