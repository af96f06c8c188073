#include "formats/end_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/try.h"
#include "formats/hf_config.h"

namespace realizar {
namespace {

using nlohmann::json;

constexpr const char* kEndNames[] = {"eos", "eot", "eom"};
// Parts of config.json that describe the model that writes the text. Parts for encoders and speech have ids of other
// vocabularies.
constexpr std::string_view kTextConfigs[] = {"text_config",           "llm_config", "language_config", "language_model",
                                             "language_model_config", "lm_config",  "thinker_config",  "decoder"};
constexpr int kMaxNesting = 4;

int64_t as_id(uint64_t id) {
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(std::min(id, kMost));
}

// Nullopt for a value that is neither a whole number nor a list of them.
std::optional<std::vector<int64_t>> ids_of(const MetaValue& value) {
  std::vector<int64_t> ids;
  const bool are_ids = std::visit(
      [&](const auto& one) {
        using Value = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<Value, int64_t>) {
          ids.push_back(one);
        } else if constexpr (std::is_same_v<Value, uint64_t>) {
          ids.push_back(as_id(one));
        } else if constexpr (std::is_same_v<Value, MetaArray>) {
          if (const auto* whole = std::get_if<std::vector<int64_t>>(&one)) {
            ids.assign(whole->begin(), whole->end());
          } else if (const auto* counts = std::get_if<std::vector<uint64_t>>(&one)) {
            for (const uint64_t id : *counts) ids.push_back(as_id(id));
          } else {
            return false;
          }
        } else {
          return false;
        }
        return true;
      },
      value);
  return are_ids ? std::optional(std::move(ids)) : std::nullopt;
}

void add_key(const Metadata& metadata, const std::string& key, bool is_denial, EndClaims& found) {
  const MetaValue* value = metadata.find(key);
  if (value == nullptr) return;
  const auto ids = ids_of(*value);
  if (!ids) {
    found.notes.push_back(
        fmt::format("{} is left out: expected a token id or a list of them, actual {}", key, to_string(*value)));
    return;
  }
  for (const int64_t id : *ids) found.claims.push_back({id, key, is_denial});
}

// A number or a list of numbers; null is ignored.
void add_ids(const json& value, const std::string& source, bool is_denial, EndClaims& found) {
  if (value.is_null()) return;
  for (const json& id : value.is_array() ? value : json::array({value})) {
    if (id.is_number_unsigned()) {
      found.claims.push_back({as_id(id.get<uint64_t>()), source, is_denial});
    } else if (id.is_number_integer()) {
      found.claims.push_back({id.get<int64_t>(), source, is_denial});
    } else {
      found.notes.push_back(fmt::format("{}: {} is left out: expected a token id", source, id.dump()));
    }
  }
}

void add_piece(const json& value, const std::string& source, EndClaims& found) {
  const json content = value.is_object() ? value.value("content", json()) : value;
  if (content.is_string() && !content.get_ref<const std::string&>().empty()) {
    found.claims.push_back({content.get<std::string>(), source});
  }
}

void add_config(const json& config, const std::string& prefix, int nesting, EndClaims& found) {
  for (const char* name : kEndNames) {
    const std::string key = fmt::format("{}_token_id", name);
    if (const auto value = config.find(key); value != config.end()) {
      add_ids(*value, fmt::format("config.json: {}{}", prefix, key), false, found);
    }
  }
  for (const std::string_view name : kTextConfigs) {
    const auto part = config.find(std::string(name));
    const bool is_part = part != config.end() && part->is_object() && nesting < kMaxNesting;
    if (is_part) add_config(*part, fmt::format("{}{}.", prefix, name), nesting + 1, found);
  }
}

// Empty for a file that is missing or not an object, which its other readers report.
json object_of(const std::optional<std::string>& text, const char* file) {
  auto parsed = parse_json_object(text.value_or("{}"), file);
  return parsed.ok() ? std::move(*parsed) : json::object();
}

void add_pieces(const std::optional<std::string>& text, const char* file, EndClaims& found) {
  const json parsed = object_of(text, file);
  for (const char* name : kEndNames) {
    const std::string key = fmt::format("{}_token", name);
    if (const auto value = parsed.find(key); value != parsed.end()) {
      add_piece(*value, fmt::format("{}: {}", file, key), found);
    }
  }
}

}  // namespace

std::vector<int64_t> ids_of_key(const Metadata& metadata, std::string_view key) {
  const MetaValue* value = metadata.find(key);
  return value == nullptr ? std::vector<int64_t>() : ids_of(*value).value_or(std::vector<int64_t>());
}

EndClaims gguf_end_claims(const Metadata& metadata) {
  EndClaims found;
  for (const char* name : kEndNames) add_key(metadata, fmt::format("tokenizer.ggml.{}_token_id", name), false, found);
  for (const char* name : kEndNames) add_key(metadata, fmt::format("tokenizer.ggml.{}_token_ids", name), false, found);
  add_key(metadata, kNoEndIdsKey, true, found);
  return found;
}

EndClaims folder_end_claims(const SideFiles& files) {
  EndClaims found;
  add_pieces(files.tokenizer_config_json, "tokenizer_config.json", found);
  const json generation = object_of(files.generation_config_json, "generation_config.json");
  for (const char* name : kEndNames) {
    const std::string key = fmt::format("{}_token_id", name);
    const std::string source = fmt::format("generation_config.json: {}", key);
    if (const auto value = generation.find(key); value != generation.end()) add_ids(*value, source, false, found);
  }
  const auto denied = generation.find(kFolderNoEndIdsKey);
  const std::string source = fmt::format("generation_config.json: {}", kFolderNoEndIdsKey);
  if (denied != generation.end()) add_ids(*denied, source, true, found);
  add_config(object_of(files.config_json, "config.json"), "", 0, found);
  add_pieces(files.special_tokens_map_json, "special_tokens_map.json", found);
  return found;
}

Result<EndClaims> read_end_claims(const ModelFile& file) {
  if (file.format() == FileFormat::kGguf) return gguf_end_claims(file.metadata());
  RZ_TRY(const SideFiles files, file.side_files());
  return folder_end_claims(files);
}

}  // namespace realizar
