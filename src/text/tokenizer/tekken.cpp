// Converts Mistral's tekken.json to tokenizer.json. The format, as mistral_common reads it: "config" has the pattern
// and the sizes, "special_tokens" the first ids (versions before 7 omit them and mean a fixed list), "vocab" the ranks.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/encodings.h"
#include "base/printable.h"
#include "base/try.h"
#include "text/tokenizer/byte_spelling.h"
#include "text/tokenizer/hf_json.h"
#include "text/tokenizer/json_forms.h"

namespace realizar::text {
namespace {

using Json = nlohmann::json;

constexpr const char* kTekkenFile = "tekken.json";
constexpr int64_t kMaxTekkenTokens = 1 << 22;
constexpr size_t kMaxTekkenBytes = 1024, kBos = 1, kEos = 2;
constexpr std::array<std::string_view, 20> kFirstSpecials = {"<unk>",
                                                             "<s>",
                                                             "</s>",
                                                             "[INST]",
                                                             "[/INST]",
                                                             "[AVAILABLE_TOOLS]",
                                                             "[/AVAILABLE_TOOLS]",
                                                             "[TOOL_RESULTS]",
                                                             "[/TOOL_RESULTS]",
                                                             "[TOOL_CALLS]",
                                                             "[IMG]",
                                                             "<pad>",
                                                             "[IMG_BREAK]",
                                                             "[IMG_END]",
                                                             "[PREFIX]",
                                                             "[MIDDLE]",
                                                             "[SUFFIX]",
                                                             "[SYSTEM_PROMPT]",
                                                             "[/SYSTEM_PROMPT]",
                                                             "[TOOL_CONTENT]"};

Error bad_tekken(const std::string& what) {
  return format_error(std::string(kTekkenFile) + ": " + what, kTekkenFile);
}

struct Special {
  std::string piece;
  bool is_control = true;
};

struct Tekken {
  std::string pattern;
  std::vector<Special> specials;   // by id
  std::vector<std::string> ranks;  // bytes by rank
};

Status add_specials(const simdjson::dom::array& entries, std::vector<Special>& specials) {
  for (const element entry : entries) {
    const int64_t rank = json_int(entry, "rank", -1);
    if (rank < 0 || rank >= kMaxTekkenTokens) return bad_tekken("special_tokens: expected a rank");
    const auto i = static_cast<size_t>(rank);
    if (i >= specials.size()) specials.resize(i + 1);
    if (!specials[i].piece.empty()) return bad_tekken("special_tokens: the rank " + std::to_string(i) + " is taken");
    specials[i] = {json_string(entry, "token_str"), json_bool(entry, "is_control", true)};
  }
  return {};
}

// Special tokens by id; ids without one get the same names as in mistral_common.
Result<std::vector<Special>> read_specials(const element& root, const element& config) {
  simdjson::dom::array entries;
  const bool has_list = root["special_tokens"].get(entries) == simdjson::SUCCESS;
  std::vector<Special> specials;
  if (!has_list) {
    for (const std::string_view piece : kFirstSpecials) specials.push_back({std::string(piece)});
  }
  const int64_t n_specials = json_int(config, "default_num_special_tokens", -1);
  if (n_specials > kMaxTekkenTokens) return bad_tekken("config.default_num_special_tokens: too many");
  if (n_specials >= 0) specials.resize(std::max(specials.size(), static_cast<size_t>(n_specials)));
  if (has_list) RZ_CHECK_OK(add_specials(entries, specials));
  for (size_t i = 0; i < specials.size(); ++i) {
    if (specials[i].piece.empty()) specials[i].piece = "<SPECIAL_" + std::to_string(i) + ">";
  }
  return specials;
}

Status read_rank(const element& entry, size_t n_ranks, std::vector<std::string>& ranks) {
  const int64_t rank = json_int(entry, "rank", -1);
  if (rank < 0 || rank >= kMaxTekkenTokens) return bad_tekken("vocab: expected a rank");
  const auto i = static_cast<size_t>(rank);
  if (i >= n_ranks) return {};  // tokens without a row in the model
  const auto bytes = decode_base64(json_string(entry, "token_bytes"));
  if (!bytes || bytes->empty() || bytes->size() > kMaxTekkenBytes) {
    return bad_tekken("vocab: rank " + std::to_string(i) + ": expected 1 to " + std::to_string(kMaxTekkenBytes) +
                      " bytes in base64");
  }
  if (i >= ranks.size()) ranks.resize(i + 1);
  if (!ranks[i].empty()) return bad_tekken("vocab: the rank " + std::to_string(i) + " is taken");
  ranks[i] = *bytes;
  return {};
}

Result<Tekken> read_tekken(const element& root) {
  element config;
  if (root["config"].get(config) != simdjson::SUCCESS) return bad_tekken("expected an object 'config'");
  Tekken tekken;
  tekken.pattern = json_string(config, "pattern");
  if (tekken.pattern.empty()) return bad_tekken("config.pattern: expected a regular expression");
  RZ_TRY(tekken.specials, read_specials(root, config));
  const int64_t n_vocab = json_int(config, "default_vocab_size", kMaxTekkenTokens);
  const int64_t n_ranks = n_vocab - static_cast<int64_t>(tekken.specials.size());
  RZ_TRY(const simdjson::dom::array entries, json_array(root, "vocab", kTekkenFile));
  for (const element entry : entries) {
    RZ_CHECK_OK(read_rank(entry, static_cast<size_t>(std::max<int64_t>(n_ranks, 0)), tekken.ranks));
  }
  for (size_t i = 0; i < tekken.ranks.size(); ++i) {
    if (tekken.ranks[i].empty()) return bad_tekken("vocab: the rank " + std::to_string(i) + " is missing");
  }
  return tekken;
}

using Ranks = std::unordered_map<std::string_view, size_t>;

Result<Ranks> index_ranks(const Tekken& tekken) {
  Ranks ranks;
  for (size_t i = 0; i < tekken.ranks.size(); ++i) {
    if (!ranks.emplace(tekken.ranks[i], i).second) {
      return bad_tekken("vocab: the rank " + std::to_string(i) + " has the bytes of another");
    }
  }
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    if (!ranks.contains(std::string_view(&c, 1))) {
      return bad_tekken("vocab: the byte " + std::to_string(byte) + " is not a token");
    }
  }
  return ranks;
}

// Spellings in the byte alphabet need no other escapes.
void append_quoted(std::string& json, std::string_view bytes) {
  json += '"';
  for (const char c : bytes) {
    if (c == '"' || c == '\\') json += '\\';
    json += spell_byte(static_cast<uint8_t>(c));
  }
  json += '"';
}

void append_vocab(std::string& json, const Tekken& tekken) {
  json += "{";
  for (size_t i = 0; i < tekken.ranks.size(); ++i) {
    if (i > 0) json += ',';
    append_quoted(json, tekken.ranks[i]);
    json += ':' + std::to_string(tekken.specials.size() + i);
  }
  json += "}";
}

// Every way to split a token into two others, in the order of ranks.
void append_merges(std::string& json, const Tekken& tekken, const Ranks& ranks) {
  json += "[";
  for (const std::string& token : tekken.ranks) {
    for (size_t i = 1; i < token.size(); ++i) {
      const std::string_view left(token.data(), i), right(token.data() + i, token.size() - i);
      if (!ranks.contains(left) || !ranks.contains(right)) continue;
      if (json.back() != '[') json += ',';
      json += '[';
      append_quoted(json, left);
      json += ',';
      append_quoted(json, right);
      json += ']';
    }
  }
  json += "]";
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string added_tokens(const Tekken& tekken) {
  Json added = Json::array();
  for (size_t i = 0; i < tekken.specials.size(); ++i) {
    added.push_back({{"id", i},
                     {"content", tekken.specials[i].piece},
                     {"special", tekken.specials[i].is_control},
                     {"normalized", false}});
  }
  return text_of(added);
}

std::string post_processor(const Tekken& tekken) {
  if (tekken.specials.size() <= kBos) return "null";
  const std::string& bos = tekken.specials[kBos].piece;
  const Json special = {{"SpecialToken", {{"id", bos}, {"type_id", 0}}}};
  const Json first = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}},
             second = {{"Sequence", {{"id", "B"}, {"type_id", 1}}}};
  return text_of(
      {{"type", "TemplateProcessing"},
       {"single", Json::array({special, first})},
       {"pair", Json::array({special, first, special, second})},
       {"special_tokens", {{bos, {{"id", bos}, {"ids", Json::array({kBos})}, {"tokens", Json::array({bos})}}}}}});
}

// Names the tokens that begin and end texts if the folder does not.
Result<std::string> config_with_ends(std::string_view config_json, const Tekken& tekken) {
  Json config = Json::parse(plain_json(config_json.empty() ? "{}" : config_json), nullptr, false);
  if (!config.is_object()) return format_error("tokenizer_config.json: expected an object", "tokenizer_config.json");
  for (const auto& [key, id] : {std::pair("bos_token", kBos), std::pair("eos_token", kEos)}) {
    const bool is_given = config.contains(key) && !config[key].is_null();
    if (!is_given && id < tekken.specials.size()) config[key] = tekken.specials[id].piece;
  }
  return text_of(config);
}

}  // namespace

Result<TokenizerJson> json_of_tekken(std::string_view tekken_json, std::string_view config_json) {
  simdjson::dom::parser parser;
  RZ_TRY(const element root, parse_side_file(parser, tekken_json, kTekkenFile));
  RZ_TRY(const Tekken tekken, read_tekken(root));
  RZ_TRY(const Ranks ranks, index_ranks(tekken));
  TokenizerJson form;
  RZ_TRY(form.config, config_with_ends(config_json, tekken));
  const Json split = {
      {"type", "Split"}, {"pattern", {{"Regex", tekken.pattern}}}, {"behavior", "Isolated"}, {"invert", false}};
  const std::string byte_level = R"({"type":"ByteLevel","add_prefix_space":false,"use_regex":false})";
  form.tokenizer = R"({"version":"1.0","added_tokens":)" + added_tokens(tekken) +
                   R"(,"normalizer":null,"pre_tokenizer":{"type":"Sequence","pretokenizers":[)" + text_of(split) + "," +
                   byte_level + R"(]},"post_processor":)" + post_processor(tekken) + R"(,"decoder":)" + byte_level +
                   R"(,"model":{"type":"BPE","ignore_merges":true,"vocab":)";
  append_vocab(form.tokenizer, tekken);
  form.tokenizer += R"(,"merges":)";
  append_merges(form.tokenizer, tekken, ranks);
  form.tokenizer += "}}";
  return form;
}

}  // namespace realizar::text
