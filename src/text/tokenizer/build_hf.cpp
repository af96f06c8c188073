// Builds a tokenizer from Hugging Face's tokenizer.json, supplemented by its tokenizer_config.json.

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/printable.h"
#include "base/try.h"
#include "text/tokenizer/bpe_model.h"
#include "text/tokenizer/builders.h"
#include "text/tokenizer/hf_json.h"
#include "text/tokenizer/hf_parts.h"
#include "text/tokenizer/plain_types.h"
#include "text/tokenizer/tokenizer_parts.h"

namespace realizar::text {
namespace {

struct ClassRule {
  std::string_view name;  // without "Fast"
  bool adds_bos = false;  // if add_bos_token is not given
};

constexpr ClassRule kClassRules[] = {
    {"LlamaTokenizer", true},  {"CodeLlamaTokenizer", true}, {"GemmaTokenizer", true},
    {"CohereTokenizer", true}, {"GPTNeoXTokenizer", false},
};

const ClassRule* find_rule(std::string_view tokenizer_class) {
  constexpr std::string_view kFast = "Fast";
  if (tokenizer_class.ends_with(kFast)) tokenizer_class.remove_suffix(kFast.size());
  for (const ClassRule& rule : kClassRules) {
    if (rule.name == tokenizer_class) return &rule;
  }
  return nullptr;
}

std::optional<bool> given_flag(const element& config, std::string_view key) {
  bool value = false;
  return config[key].get(value) == simdjson::SUCCESS ? std::optional(value) : std::nullopt;
}

// Applies tokenizer_config.json's add_bos_token and add_eos_token to `parts`, whose bos and eos are set. The classes of
// Llama, Gemma, Cohere and GPT-NeoX build the post-processor from these flags; for others, and if neither is given,
// tokenizer.json's post-processor applies. Without one the flags apply for every class.
void apply_class_rules(const element& config, bool has_post_processor, TokenizerParts& parts) {
  if (!config.is_object()) return;
  const ClassRule* rule = find_rule(json_string(config, "tokenizer_class"));
  const auto add_bos = given_flag(config, "add_bos_token"), add_eos = given_flag(config, "add_eos_token");
  if (has_post_processor && (rule == nullptr || (!add_bos && !add_eos))) return;
  parts.post = {};
  if (add_bos.value_or(rule != nullptr && rule->adds_bos) && parts.bos) parts.post.prefix.push_back(*parts.bos);
  if (add_eos.value_or(false) && parts.eos) parts.post.suffix.push_back(*parts.eos);
  // The second of two texts begins like the first.
  if (rule == nullptr || parts.post.prefix.empty()) return;
  parts.post.between = parts.post.suffix;
  parts.post.between->insert(parts.post.between->end(), parts.post.prefix.begin(), parts.post.prefix.end());
}

// A section; null if it is absent.
element section_of(const element& document, std::string_view key, const element& null) {
  return json_member(document, key).value_or(null);
}

struct HfVocab {
  std::vector<std::string_view> pieces;  // by id; "" is a hole
  std::vector<float> scores;             // Unigram only
  std::vector<TokenType> types;
  std::vector<AddedToken> added;
  std::unordered_set<int64_t> added_ids;
  std::unordered_map<std::string_view, int64_t> model_ids;  // of the model's own pieces

  void index_model() {
    model_ids.reserve(pieces.size());
    for (size_t i = 0; i < pieces.size(); ++i) {
      if (!pieces[i].empty()) model_ids.emplace(pieces[i], static_cast<int64_t>(i));
    }
  }

  // Errors: FormatError for an id that would leave the vocabulary mostly empty, or that another piece has.
  Status set(int64_t id, std::string_view piece, size_t n_entries) {
    const int64_t limit = static_cast<int64_t>(4 * n_entries + 65536);
    if (id < 0 || id >= limit) {
      return format_error(
          "vocab: '" + shown(piece) + "' has id " + std::to_string(id) + ", expected below " + std::to_string(limit),
          "vocab");
    }
    const auto i = static_cast<size_t>(id);
    if (i >= pieces.size()) pieces.resize(i + 1);
    if (!pieces[i].empty() && pieces[i] != piece) {
      return format_error(
          "vocab: id " + std::to_string(id) + " is both '" + shown(pieces[i]) + "' and '" + shown(piece) + "'",
          "vocab");
    }
    pieces[i] = piece;
    return {};
  }
};

// BPE, WordPiece and WordLevel: an object of piece to id.
Status read_vocab_object(const element& model, HfVocab& vocab) {
  simdjson::dom::object entries;
  if (model["vocab"].get(entries) != simdjson::SUCCESS) return format_error("model.vocab: expected an object", "vocab");
  const size_t n_entries = entries.size();
  vocab.pieces.reserve(n_entries + 1024);
  for (const auto [piece, value] : entries) {
    int64_t id = -1;
    if (value.get(id) != simdjson::SUCCESS) {
      return format_error("model.vocab: '" + shown(piece) + "': expected an id", "vocab");
    }
    RZ_CHECK_OK(vocab.set(id, piece, n_entries));
  }
  return {};
}

// Unigram: an array of [piece, score].
Status read_vocab_array(const element& model, HfVocab& vocab) {
  RZ_TRY(const simdjson::dom::array entries, json_array(model, "vocab", "model"));
  for (const element entry : entries) {
    std::string_view piece;
    double score = 0;
    if (entry.at(0).get(piece) != simdjson::SUCCESS || entry.at(1).get(score) != simdjson::SUCCESS) {
      return format_error("model.vocab: entry " + std::to_string(vocab.pieces.size()) + ": expected [piece, score]",
                          "vocab");
    }
    vocab.pieces.push_back(piece);
    vocab.scores.push_back(static_cast<float>(score));
  }
  return {};
}

AddedToken read_added_token(const element& entry, int64_t id) {
  AddedToken token;
  token.id = TokenId{static_cast<int32_t>(id)};
  token.content = json_string(entry, "content");
  token.special = json_bool(entry, "special", false);
  token.single_word = json_bool(entry, "single_word", false);
  token.lstrip = json_bool(entry, "lstrip", false);
  token.rstrip = json_bool(entry, "rstrip", false);
  token.normalized = json_bool(entry, "normalized", !token.special);
  return token;
}

// A token in the model's vocabulary keeps its id there, whatever the list says, and a token without text is ignored.
Status add_token(const element& entry, int64_t id, HfVocab& vocab) {
  std::string_view content;
  if (entry["content"].get(content) != simdjson::SUCCESS) {
    return format_error("added_tokens: expected a content", "added_tokens");
  }
  if (content.empty()) return {};
  if (const auto own = vocab.model_ids.find(content); own != vocab.model_ids.end()) id = own->second;
  if (!vocab.added_ids.insert(id).second) return {};
  RZ_CHECK_OK(vocab.set(id, content, vocab.pieces.size()));
  vocab.added.push_back(read_added_token(entry, id));
  return {};
}

// tokenizer.json's added_tokens, then those that only tokenizer_config.json's added_tokens_decoder has.
Status read_added_tokens(const element& document, const element& config, HfVocab& vocab) {
  simdjson::dom::array entries;
  if (document["added_tokens"].get(entries) == simdjson::SUCCESS) {
    for (const element entry : entries) RZ_CHECK_OK(add_token(entry, json_int(entry, "id", -1), vocab));
  }
  simdjson::dom::object more;
  if (config.is_object() && config["added_tokens_decoder"].get(more) == simdjson::SUCCESS) {
    for (const auto [key, entry] : more) {
      int64_t id = -1;
      const auto parsed = std::from_chars(key.data(), key.data() + key.size(), id);
      if (parsed.ec != std::errc()) {
        return format_error("added_tokens_decoder: expected an id, got '" + shown(key) + "'", "added_tokens_decoder");
      }
      RZ_CHECK_OK(add_token(entry, id, vocab));
    }
  }
  return {};
}

void set_types(HfVocab& vocab) {
  vocab.types.assign(vocab.pieces.size(), TokenType::kNormal);
  vocab.scores.resize(vocab.scores.empty() ? 0 : vocab.pieces.size());
  for (size_t i = 0; i < vocab.pieces.size(); ++i) {
    if (vocab.pieces[i].empty()) vocab.types[i] = TokenType::kUnused;
  }
  for (const AddedToken& token : vocab.added) {
    vocab.types[static_cast<size_t>(to_index(token.id))] =
        token.special ? TokenType::kControl : TokenType::kUserDefined;
  }
}

Result<std::vector<MergeRule>> read_merges(const element& model) {
  RZ_TRY(const simdjson::dom::array entries, json_array(model, "merges", "model"));
  std::vector<MergeRule> merges;
  merges.reserve(entries.size());
  for (const element entry : entries) {
    std::string_view left, right;
    if (entry.get(left) == simdjson::SUCCESS) {
      const size_t space = left.find(' ');
      if (space != std::string_view::npos) right = left.substr(space + 1);
      left = left.substr(0, space);
      if (right.find(' ') != std::string_view::npos) right = {};
    } else if (entry.at(0).get(left) != simdjson::SUCCESS || entry.at(1).get(right) != simdjson::SUCCESS) {
      left = right = {};
    }
    if (left.empty() || right.empty()) {
      return format_error("model.merges: entry " + std::to_string(merges.size()) + ": expected two pieces", "merges");
    }
    merges.emplace_back(left, right);
  }
  return merges;
}

Result<std::unique_ptr<MergeModel>> read_bpe(const element& model, const Vocabulary& vocab,
                                             const std::vector<MergeRule>& merges, bool byte_level) {
  BpeOptions options;
  options.byte_level = byte_level;
  options.ignore_merges = json_bool(model, "ignore_merges", false);
  options.byte_fallback = json_bool(model, "byte_fallback", false);
  options.fuse_unk = json_bool(model, "fuse_unk", false);
  options.continuing_subword_prefix = json_string(model, "continuing_subword_prefix");
  options.end_of_word_suffix = json_string(model, "end_of_word_suffix");
  // Most vocabularies whose entry is not a piece never need it.
  if (const std::string unk = json_string(model, "unk_token"); !unk.empty()) options.unk_id = vocab.find(unk);
  return make_bpe_model(vocab, merges, std::move(options));
}

Result<std::unique_ptr<MergeModel>> read_unigram(const element& model, const Vocabulary& vocab,
                                                 std::vector<float> scores) {
  UnigramOptions options;
  options.scores = std::move(scores);
  options.byte_fallback = json_bool(model, "byte_fallback", false);
  const int64_t unk = json_int(model, "unk_id", -1);
  if (unk >= vocab.size()) return format_error("model.unk_id: outside the vocabulary", "model.unk_id");
  if (unk >= 0) options.unk_id = TokenId{static_cast<int32_t>(unk)};
  return make_unigram_model(vocab, std::move(options));
}

Result<std::unique_ptr<MergeModel>> read_wordpiece(const element& model, const Vocabulary& vocab) {
  WordPieceOptions options;
  options.unk_token = json_string(model, "unk_token", options.unk_token);
  options.continuing_subword_prefix = json_string(model, "continuing_subword_prefix", "##");
  options.max_input_chars_per_word = json_int(model, "max_input_chars_per_word", 100);
  return make_wordpiece_model(vocab, std::move(options));
}

// The first versions of tokenizer.json do not state the type.
std::string model_type(const element& model) {
  const std::string type = json_string(model, "type");
  if (!type.empty()) return type;
  if (json_member(model, "merges")) return "BPE";
  return json_member(model, "continuing_subword_prefix") ? "WordPiece" : "WordLevel";
}

// The piece named by a member of tokenizer_config.json: a string, or an object with a content.
std::optional<TokenId> config_token(const element& config, std::string_view key, const Vocabulary& vocab) {
  if (!config.is_object()) return std::nullopt;
  std::string_view piece;
  if (config[key].get(piece) != simdjson::SUCCESS && config[key]["content"].get(piece) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  return vocab.find(piece);
}

// tokenizer_config.json's bos and eos, and related settings.
void read_config(const element& config, bool has_post_processor, TokenizerParts& parts) {
  parts.bos = config_token(config, "bos_token", *parts.vocab);
  parts.eos = config_token(config, "eos_token", *parts.vocab);
  parts.end_tokens = find_end_tokens(*parts.vocab, parts.eos, std::nullopt);
  apply_class_rules(config, has_post_processor, parts);
}

// Tokens that are searched after the normalizer are themselves normalized. Tokens whose type makes them part of plain
// text are not searched.
void set_added(std::vector<AddedToken> added, TokenizerParts& parts) {
  std::vector<AddedToken> raw, normalized;
  for (AddedToken& token : added) {
    const TokenType type = parts.vocab->type(token.id);
    if (type == TokenType::kNormal || type == TokenType::kByte) continue;
    token.special = type == TokenType::kControl;
    if (!token.normalized || !parts.normalizer) {
      raw.push_back(std::move(token));
    } else {
      parts.normalizer(token.content, true);
      normalized.push_back(std::move(token));
    }
  }
  parts.added = AddedTokenMatcher(std::move(raw));
  parts.added_normalized = AddedTokenMatcher(std::move(normalized));
}

// The token for text without a piece in the vocabulary.
std::optional<TokenId> unknown_token(const element& model, const HfVocab& vocab) {
  const int64_t id = json_int(model, "unk_id", -1);
  if (id >= 0) return TokenId{static_cast<int32_t>(std::min<int64_t>(id, INT32_MAX))};
  const std::string unk = json_string(model, "unk_token");
  const auto found = std::ranges::find(vocab.pieces, std::string_view(unk));
  if (unk.empty() || found == vocab.pieces.end()) return std::nullopt;
  return TokenId{static_cast<int32_t>(found - vocab.pieces.begin())};
}

Result<TokenizerParts> build(const element& document, const element& config, const element& null) {
  const std::optional<element> model = json_member(document, "model");
  if (!model || !model->is_object()) return format_error("expected an object 'model'", "model");
  const std::string type = model_type(*model);
  const bool is_bpe = type == "BPE";
  const bool is_unigram = type == "Unigram";
  if (!is_bpe && !is_unigram && type != "WordPiece" && type != "WordLevel") {
    return unsupported("model: type '" + shown(type) + "' is not built", "model");
  }
  HfVocab vocab;
  RZ_CHECK_OK(is_unigram ? read_vocab_array(*model, vocab) : read_vocab_object(*model, vocab));
  vocab.index_model();
  RZ_CHECK_OK(read_added_tokens(document, config, vocab));
  set_types(vocab);
  const bool decorated =
      !json_string(*model, "continuing_subword_prefix").empty() || !json_string(*model, "end_of_word_suffix").empty();
  RZ_TRY(HfPreTokenizer pre, read_pre_tokenizer(section_of(document, "pre_tokenizer", null), is_bpe && !decorated));
  std::vector<MergeRule> merges;
  if (is_bpe) {
    RZ_TRY(merges, read_merges(*model));
  }
  const bool falls_back = (is_bpe || is_unigram) && !pre.byte_level && json_bool(*model, "byte_fallback", false);
  if (falls_back) set_byte_types(vocab.pieces, vocab.types);
  set_plain_types(vocab.pieces, merges, pre.byte_level ? Units::kBytes : Units::kCharacters,
                  unknown_token(*model, vocab), vocab.types);

  TokenizerParts parts;
  parts.vocab = std::make_unique<Vocabulary>(vocab.pieces, std::move(vocab.types));
  RZ_TRY(parts.normalizer, read_normalizer(section_of(document, "normalizer", null)));
  parts.pre_tokenizer = std::move(pre.part);
  if (is_bpe) {
    RZ_TRY(parts.model, read_bpe(*model, *parts.vocab, merges, pre.byte_level));
  } else if (is_unigram) {
    RZ_TRY(parts.model, read_unigram(*model, *parts.vocab, std::move(vocab.scores)));
  } else if (type == "WordPiece") {
    RZ_TRY(parts.model, read_wordpiece(*model, *parts.vocab));
  } else {
    RZ_TRY(parts.model, make_wordlevel_model(*parts.vocab, json_string(*model, "unk_token", "<unk>")));
  }
  RZ_TRY(HfDecoder decoder, read_decoder(section_of(document, "decoder", null), *parts.vocab));
  parts.decoded = std::move(decoder.decoded);
  parts.strips_leading_space = decoder.strips_leading_space;
  RZ_TRY(parts.post, read_post_processor(section_of(document, "post_processor", null), *parts.vocab));
  parts.keeps_invalid_utf8 = pre.byte_level || (is_bpe && falls_back && has_all_bytes(*parts.vocab));
  read_config(config, json_member(document, "post_processor").has_value(), parts);
  set_added(std::move(vocab.added), parts);
  return parts;
}

}  // namespace

Result<TokenizerParts> build_hf(std::string_view tokenizer_json, std::string_view config_json) {
  simdjson::dom::parser parser, config_parser, null_parser;
  RZ_TRY(const element document, parse_side_file(parser, tokenizer_json, "tokenizer.json"));
  element null;
  if (null_parser.parse(std::string("null")).get(null)) return Error{};
  element config = null;
  if (!config_json.empty()) {
    RZ_TRY(config, parse_side_file(config_parser, config_json, "tokenizer_config.json"));
  }
  auto parts = build(document, config, null);
  if (parts.ok()) return parts;
  Error error = std::move(parts).error();
  error.message.insert(0, "tokenizer.json: ");
  return error;
}

}  // namespace realizar::text
