#include "formats/tokenizer_files.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>

#include "base/try.h"
#include "base/utf8.h"
#include "formats/hf_config.h"
#include "formats/hf_folder.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char *kTokenizer = "tokenizer.json", *kSentencePiece = "tokenizer.model",
                     *kRwkv = "rwkv_vocab_v20230424.txt", *kTekken = "tekken.json", *kVocab = "vocab.json",
                     *kMerges = "merges.txt", *kSettings = "tokenizer_config.json", *kAdded = "added_tokens.json",
                     *kSpecials = "special_tokens_map.json";
constexpr const char* kDecoder = "added_tokens_decoder";

Result<json> object_at(const fs::path& path) {
  RZ_TRY(const auto text, read_optional(path));
  if (!text) return json::object();
  return parse_json_object(*text, path.string());
}

std::string piece_of(const json& token) {
  if (token.is_string()) return token.get<std::string>();
  if (!token.is_object()) return "";
  const auto content = token.find("content");
  return content != token.end() && content->is_string() ? content->get<std::string>() : "";
}

bool is_given(const json& settings, const std::string& key) {
  const auto found = settings.find(key);
  return found != settings.end() && !found->is_null();
}

// The pieces named in the settings: bos_token and similar keys, and additional_special_tokens.
std::set<std::string> special_pieces(const json& settings) {
  std::set<std::string> pieces;
  for (const auto& [key, value] : settings.items()) {
    if (key.ends_with("_token")) pieces.insert(piece_of(value));
    if (key != "additional_special_tokens" || !value.is_array()) continue;
    for (const json& token : value) pieces.insert(piece_of(token));
  }
  return pieces;
}

// Marks of chat templates, which a folder may fail to list as special.
bool is_mark(std::string_view piece) {
  return piece.starts_with("<|") && piece.ends_with("|>");
}

Status add_tokens(const json& added, const fs::path& path, json& settings) {
  const std::set<std::string> special = special_pieces(settings);
  std::set<std::string> known;
  for (const json& entry : settings[kDecoder]) known.insert(piece_of(entry));
  for (const auto& [piece, id] : added.items()) {
    if (!id.is_number_unsigned()) {
      return format_error(path.string() + ": expected the id of '" + piece + "'", path.string());
    }
    const std::string key = std::to_string(id.get<uint64_t>());
    if (known.contains(piece) || settings[kDecoder].contains(key)) continue;
    const bool is_special = special.contains(piece) || is_mark(piece);
    settings[kDecoder][key] = {{"content", piece}, {"special", is_special}, {"lstrip", false},
                               {"rstrip", false},  {"single_word", false},  {"normalized", !is_special}};
  }
  return {};
}

Status unite_settings(const fs::path& folder, SideFiles& files) {
  RZ_TRY(const json specials, object_at(folder / kSpecials));
  RZ_TRY(const json added, object_at(folder / kAdded));
  const bool wants_added = !files.tokenizer_json && !added.empty();
  if (specials.empty() && !wants_added) return {};
  RZ_TRY(json settings, parse_json_object(files.tokenizer_config_json.value_or("{}"), (folder / kSettings).string()));
  const bool lists_tokens =
      settings.contains(kDecoder) && settings[kDecoder].is_object() && !settings[kDecoder].empty();
  for (const auto& [key, value] : specials.items()) {
    if (!lists_tokens || !is_given(settings, key)) settings[key] = value;
  }
  if (wants_added) {
    if (!lists_tokens) settings[kDecoder] = json::object();
    RZ_CHECK_OK(add_tokens(added, folder / kAdded, settings));
  }
  files.tokenizer_config_json = settings.dump(-1, ' ', false, json::error_handler_t::replace);
  return {};
}

Status read_model_type(const fs::path& folder, SideFiles& files) {
  RZ_TRY(const json config, object_at(folder / "config.json"));
  const auto type = config.find("model_type");
  if (type != config.end() && type->is_string()) files.model_type = type->get<std::string>();
  return {};
}

}  // namespace

Status read_tokenizer_files(const fs::path& folder, SideFiles& files) {
  RZ_TRY(files.tokenizer_json, read_optional_json(folder / kTokenizer));
  RZ_TRY(files.tokenizer_model, read_optional(folder / kSentencePiece));
  RZ_TRY(files.rwkv_vocab, read_optional(folder / kRwkv));
  RZ_TRY(files.tokenizer_config_json, read_optional_json(folder / kSettings));
  RZ_CHECK_OK(unite_settings(folder, files));
  if (files.tokenizer_json || files.tokenizer_model) return {};
  RZ_TRY(files.tekken_json, read_optional_json(folder / kTekken));
  RZ_TRY(files.merges_txt, read_optional(folder / kMerges));
  RZ_TRY(files.vocab_json, read_optional_json(folder / kVocab));
  if (files.merges_txt) files.merges_txt = without_byte_order_mark(std::move(*files.merges_txt));
  return read_model_type(folder, files);
}

bool is_vocabulary_file(const fs::path& name) {
  constexpr std::array kNames = {kTokenizer, kSentencePiece, kRwkv, kTekken, kVocab};
  return std::ranges::any_of(kNames, [&](const char* known) { return name == known; });
}

bool has_vocabulary(const fs::path& folder) {
  std::error_code error;
  for (const char* name : {kTokenizer, kSentencePiece, kRwkv, kTekken}) {
    if (fs::exists(folder / name, error)) return true;
  }
  return fs::exists(folder / kVocab, error) && fs::exists(folder / kMerges, error);
}

bool has_vocabulary(const SideFiles& files) {
  return files.tokenizer_json || files.tokenizer_model || files.rwkv_vocab || files.tekken_json ||
         (files.vocab_json && files.merges_txt);
}

}  // namespace realizar
