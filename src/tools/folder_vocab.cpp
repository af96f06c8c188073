#include "tools/folder_vocab.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/encodings.h"
#include "base/printable.h"
#include "base/try.h"
#include "text/tokenizer/json_forms.h"
#include "text/tokenizer/model_proto.h"
#include "text/tokenizer/pre_tokenizer_name.h"
#include "text/tokenizer/pre_tokenizer_table.h"
#include "tools/generation_keys.h"

namespace realizar {
namespace {

using nlohmann::json;
using text::TokenType;

constexpr std::string_view kMetaspace = "\u2581";
constexpr float kUnusedScore = -1000;  // llama.cpp's converter assigns it to tokens without a SentencePiece score

Result<json> parse_object(const std::string& text, const char* name) {
  json parsed = json::parse(text, nullptr, false);
  if (parsed.is_object()) return parsed;
  return format_error(fmt::format("{}: expected a JSON object", name), name);
}

const json& member(const json& object, const char* name) {
  static const json kNone;
  const auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() ? *found : kNone;
}

std::string string_member(const json& object, const char* name) {
  const json& value = member(object, name);
  return value.is_string() ? value.get<std::string>() : "";
}

bool flag(const json& object, const char* name) {
  const json& value = member(object, name);
  return value.is_boolean() && value.get<bool>();
}

int32_t number_of(TokenType type) {
  return static_cast<int32_t>(type);
}

// Whether a section of tokenizer.json contains a component of the type, at any depth.
bool has_component(const json& section, std::string_view type) {
  if (section.is_array()) {
    return std::ranges::any_of(section, [&](const json& entry) { return has_component(entry, type); });
  }
  if (!section.is_object()) return false;
  if (string_member(section, "type") == type) return true;
  return std::ranges::any_of(section.items(), [&](const auto& item) { return has_component(item.value(), type); });
}

class VocabReader {
 public:
  VocabReader(const SideFiles& side, const Metadata& config, const std::string& arch, uint32_t n_tokens)
      : side_(side), config_(config), arch_(arch), n_tokens_(n_tokens) {}

  Result<FolderVocab> read(const std::string& pre, const EndSettings& changes) {
    if (side_.tokenizer_config_json) {
      RZ_TRY(settings_, parse_object(*side_.tokenizer_config_json, "tokenizer_config.json"));
    }
    // Tiktoken's ranks are not a SentencePiece model.
    const bool is_tiktoken = string_member(settings_, "tokenizer_class") == "ChatGLM4Tokenizer";
    const bool is_sentencepiece = side_.tokenizer_model && !is_tiktoken;
    if (!side_.tokenizer_json && !is_sentencepiece && !side_.rwkv_vocab) {
      return unsupported(
          "a vocabulary in this form has no name in GGUF: it needs tokenizer.json, or SentencePiece's "
          "tokenizer.model",
          "tokenizer");
    }
    RZ_TRY(own_, own_tokenizer());
    if (is_sentencepiece) {
      // The model was trained with the scores in this file, which tokenizer.json lacks.
      RZ_CHECK_OK(read_sentencepiece());
    } else if (side_.tokenizer_json) {
      RZ_CHECK_OK(read_json(pre));
    } else {
      RZ_CHECK_OK(read_rwkv());
    }
    RZ_CHECK_OK(fill());
    RZ_CHECK_OK(read_special_tokens());
    RZ_CHECK_OK(check());
    RZ_TRY(const auto ends, changed_ends(*own_, folder_end_claims(side_), changes, vocab_.notes));
    RZ_CHECK_OK(put_ends(ends, vocab_));
    return std::move(vocab_);
  }

 private:
  Status set_token(int64_t id, std::string piece, TokenType type) {
    if (id < 0 || id >= n_tokens_) {
      return format_error(
          fmt::format("the tokenizer's '{}' has id {}, and the embedding {} rows", piece, id, n_tokens_), "tokenizer");
    }
    const auto i = static_cast<size_t>(id);
    if (i >= vocab_.tokens.size()) {
      vocab_.tokens.resize(i + 1);
      vocab_.types.resize(i + 1, number_of(TokenType::kUnused));
    }
    vocab_.tokens[i] = std::move(piece);
    vocab_.types[i] = number_of(type);
    return {};
  }

  Status set_added(int64_t id, const json& entry) {
    const bool takes_spaces = flag(entry, "lstrip") || flag(entry, "rstrip");
    const bool is_changed = flag(entry, "normalized") && changes_letters_;
    if (takes_spaces || flag(entry, "single_word") || is_changed)
      bound_tokens_.push_back(string_member(entry, "content"));
    const TokenType type = flag(entry, "special") ? TokenType::kControl : TokenType::kUserDefined;
    return set_token(id, string_member(entry, "content"), type);
  }

  // Tokens that only tokenizer_config.json has come last.
  Status read_added(const json& entries) {
    std::map<int64_t, const json*> added;
    for (const json& entry : entries) {
      if (member(entry, "id").is_number_integer()) added.emplace(member(entry, "id").get<int64_t>(), &entry);
    }
    for (const auto& [key, entry] : member(settings_, "added_tokens_decoder").items()) {
      const bool is_id = !key.empty() && key.find_first_not_of("0123456789") == std::string::npos && key.size() < 10;
      if (is_id) added.emplace(std::stoll(key), &entry);
    }
    for (const auto& [id, entry] : added) RZ_CHECK_OK(set_added(id, *entry));
    note_bound_tokens();
    return {};
  }

  void note_bound_tokens() {
    constexpr size_t kMostNamed = 8;
    if (bound_tokens_.empty()) return;
    std::vector<std::string> names;
    for (const std::string& token : bound_tokens_) {
      if (names.size() < kMostNamed) names.push_back(shown(token));
    }
    const std::string more = bound_tokens_.size() > kMostNamed
                                 ? fmt::format(" and {} more", bound_tokens_.size() - kMostNamed)
                                 : std::string();
    vocab_.notes.push_back(
        fmt::format("GGUF cannot say how added tokens treat the text beside them (lstrip, rstrip, single_word, "
                    "normalized): {}{}",
                    fmt::join(names, ", "), more));
  }

  Status read_json(const std::string& pre) {
    RZ_TRY(const json document, parse_object(*side_.tokenizer_json, "tokenizer.json"));
    constexpr std::string_view kLetters[] = {"Lowercase", "StripAccents", "BertNormalizer", "NFC",
                                             "NFD",       "NFKC",         "NFKD",           "Precompiled"};
    changes_letters_ = std::ranges::any_of(
        kLetters, [&](std::string_view type) { return has_component(member(document, "normalizer"), type); });
    const json& model = member(document, "model");
    const std::string type = string_member(model, "type");
    if (type == "WordPiece") return read_wordpiece(document, model);
    if (type == "Unigram") return read_unigram(document, model);
    if (type != "BPE" && !member(model, "merges").is_array()) {
      return unsupported(fmt::format("tokenizer.json: a model of type '{}' has no name in GGUF", type), "model");
    }
    RZ_CHECK_OK(read_pieces(model));
    const bool is_byte_level = has_component(member(document, "pre_tokenizer"), "ByteLevel") ||
                               has_component(member(document, "decoder"), "ByteLevel");
    if (is_byte_level || arch_ == "gemma4") {
      vocab_.model = is_byte_level ? "gpt2" : "gemma4";
      RZ_CHECK_OK(read_merges(model));
      if (has_component(member(document, "normalizer"), "NFC")) {
        vocab_.notes.emplace_back(
            "the folder's tokenizer composes letters and accents (NFC), which no tokenizer of a GGUF file does");
      }
      RZ_CHECK_OK(read_added(member(document, "added_tokens")));
      if (!is_byte_level) mark_bytes(model);
      vocab_.pre = pre;
      if (pre.empty() && !is_byte_level) vocab_.pre = "gemma4";
      if (pre.empty() && is_byte_level) {
        RZ_TRY(vocab_.pre, found_pre_tokenizer());
      }
      return {};
    }
    return read_scored_merges(document, model);
  }

  // Identified by the ids that the folder's tokenizer gives, like in llama.cpp's converter, or by its behaviour.
  Result<std::string> found_pre_tokenizer() const {
    const std::string known(known_pre_tokenizer(*own_));
    if (text::find_pre_tokenizer(known) != nullptr && !known.empty()) return known;
    return text::pre_tokenizer_name(*side_.tokenizer_json, arch_);
  }

  Status read_pieces(const json& model) {
    for (const auto& [piece, id] : member(model, "vocab").items()) {
      if (!id.is_number_integer()) return format_error("tokenizer.json: expected ids in model.vocab", "vocab");
      RZ_CHECK_OK(set_token(id.get<int64_t>(), piece, TokenType::kNormal));
    }
    return {};
  }

  Status read_merges(const json& model) {
    for (const json& entry : member(model, "merges")) {
      const bool is_pair = entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_string();
      if (!entry.is_string() && !is_pair) {
        return format_error("tokenizer.json: expected two pieces in each of model.merges", "merges");
      }
      vocab_.merges.push_back(is_pair ? entry[0].get<std::string>() + " " + entry[1].get<std::string>()
                                      : entry.get<std::string>());
    }
    return {};
  }

  void mark_bytes(const json& model) {
    for (size_t i = 0; i < vocab_.tokens.size(); ++i) {
      const std::string& piece = vocab_.tokens[i];
      const bool is_byte = piece.size() == 6 && piece.starts_with("<0x") && piece.back() == '>';
      if (is_byte && vocab_.types[i] == number_of(TokenType::kNormal)) vocab_.types[i] = number_of(TokenType::kByte);
    }
    const std::string unk = string_member(model, "unk_token");
    const auto found = std::ranges::find(vocab_.tokens, unk);
    if (unk.empty() || found == vocab_.tokens.end()) return;
    const auto id = static_cast<size_t>(found - vocab_.tokens.begin());
    vocab_.unk = static_cast<uint32_t>(id);
    vocab_.types[id] = number_of(TokenType::kUnknown);
  }

  // Reads a SentencePiece vocabulary that tokenizer.json stores as merges: a piece's score is the rank of the merge
  // that makes it, and pieces that no merge makes come after them, in the order of SentencePiece's trainer.
  Status read_scored_merges(const json& document, const json& model) {
    if (!flag(model, "byte_fallback")) {
      return unsupported("tokenizer.json: BPE that is neither of bytes nor falls back on them has no name in GGUF",
                         "model");
    }
    RZ_CHECK_OK(read_merges(model));
    std::unordered_map<std::string, size_t> ranks;
    for (size_t rank = 0; rank < vocab_.merges.size(); ++rank) {
      std::string made = vocab_.merges[rank];
      const size_t space = made.find(' ', 1);
      if (space != std::string::npos) ranks.emplace(made.erase(space, 1), rank);
    }
    size_t next = vocab_.merges.size();
    vocab_.scores.resize(vocab_.tokens.size());
    RZ_CHECK_OK(read_added(member(document, "added_tokens")));
    vocab_.scores.resize(vocab_.tokens.size());
    mark_bytes(model);
    for (size_t i = 0; i < vocab_.tokens.size(); ++i) {
      if (vocab_.types[i] != number_of(TokenType::kNormal)) continue;
      const auto rank = ranks.find(vocab_.tokens[i]);
      vocab_.scores[i] = -static_cast<float>(rank == ranks.end() ? next++ : rank->second);
    }
    vocab_.merges.clear();
    vocab_.model = "llama";
    vocab_.pre = "default";
    const json& normalizer = member(document, "normalizer");
    const json& pre_tokenizer = member(document, "pre_tokenizer");
    const bool is_metaspace = has_component(pre_tokenizer, "Metaspace");
    vocab_.add_space_prefix = has_component(normalizer, "Prepend") ||
                              (is_metaspace && string_member(pre_tokenizer, "prepend_scheme") != "never");
    return {};
  }

  // GGUF has U+2581 before pieces that begin a word, and no mark before those that continue one.
  Status read_wordpiece(const json& document, const json& model) {
    RZ_CHECK_OK(read_pieces(model));
    for (std::string& piece : vocab_.tokens) {
      const bool is_in_brackets = piece.starts_with('[') && piece.ends_with(']');
      if (piece.starts_with("##")) {
        piece.erase(0, 2);
      } else if (!is_in_brackets && !piece.empty()) {
        piece.insert(0, kMetaspace);
      }
    }
    vocab_.model = "bert";
    read_bert_normalizer(member(document, "normalizer"));
    const std::string known(known_pre_tokenizer(*own_));
    vocab_.pre = known.empty() ? "default" : known;
    return read_added(member(document, "added_tokens"));
  }

  void read_bert_normalizer(const json& normalizer) {
    const auto given = [&](const char* name) {
      const json& value = member(normalizer, name);
      return value.is_boolean() ? std::optional(value.get<bool>()) : std::nullopt;
    };
    vocab_.lowercase = given("lowercase");
    vocab_.strip_accents = given("strip_accents");
  }

  Status read_unigram(const json& document, const json& model) {
    for (const json& entry : member(model, "vocab")) {
      const bool is_pair = entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_number();
      if (!is_pair) return format_error("tokenizer.json: expected [piece, score] in model.vocab", "vocab");
      RZ_CHECK_OK(
          set_token(static_cast<int64_t>(vocab_.tokens.size()), entry[0].get<std::string>(), TokenType::kNormal));
      vocab_.scores.push_back(entry[1].get<float>());
    }
    vocab_.model = "t5";
    vocab_.pre = "default";
    if (const json& unk = member(model, "unk_id");
        unk.is_number_unsigned() && unk.get<uint64_t>() < vocab_.tokens.size()) {
      vocab_.unk = unk.get<uint32_t>();
    }
    RZ_CHECK_OK(read_added(member(document, "added_tokens")));
    if (vocab_.unk) vocab_.types[*vocab_.unk] = number_of(TokenType::kUnknown);
    vocab_.add_space_prefix = true;
    vocab_.remove_extra_whitespaces = true;
    return read_charsmap(member(document, "normalizer"));
  }

  Status read_charsmap(const json& normalizer) {
    if (normalizer.is_object() && string_member(normalizer, "type") == "Precompiled") {
      const auto bytes = decode_base64(string_member(normalizer, "precompiled_charsmap"));
      if (!bytes) return format_error("tokenizer.json: precompiled_charsmap is not base64", "normalizer");
      vocab_.charsmap.assign(bytes->begin(), bytes->end());
    }
    for (const json& step : member(normalizer, "normalizers")) RZ_CHECK_OK(read_charsmap(step));
    return {};
  }

  Status read_sentencepiece() {
    RZ_TRY(const text::SpmDescription spm, text::read_model_proto(*side_.tokenizer_model));
    for (size_t i = 0; i < spm.pieces.size(); ++i) {
      RZ_CHECK_OK(set_token(static_cast<int64_t>(i), spm.pieces[i], spm.types[i]));
      vocab_.scores.push_back(spm.scores[i]);
    }
    const std::vector<int32_t> own_types = vocab_.types;
    RZ_CHECK_OK(read_added(json::array()));
    for (size_t i = 0; i < own_types.size(); ++i) {
      if (own_types[i] == number_of(TokenType::kUnknown)) vocab_.types[i] = own_types[i];
    }
    vocab_.scores.resize(vocab_.tokens.size(), kUnusedScore);
    vocab_.model = spm.unigram ? "t5" : "llama";
    vocab_.pre = "default";
    vocab_.add_space_prefix = spm.whitespace.add_prefix;
    const auto as_number = [](std::optional<TokenId> id) {
      return id ? std::optional(static_cast<uint32_t>(to_index(*id))) : std::nullopt;
    };
    vocab_.unk = as_number(spm.unk);
    vocab_.bos = as_number(spm.bos);
    vocab_.eos = as_number(spm.eos);
    if (!spm.unigram) return {};
    vocab_.remove_extra_whitespaces = spm.whitespace.remove_extra;
    vocab_.charsmap = spm.charsmap;
    return {};
  }

  // Stores pieces as the reader of the file's tokenizer spells them.
  Status read_rwkv() {
    RZ_TRY(const text::Tokenizer own,
           text::Tokenizer::from_rwkv(*side_.rwkv_vocab, side_.tokenizer_config_json.value_or("")));
    for (int32_t i = 0; i < own.n_vocab(); ++i) {
      RZ_CHECK_OK(set_token(i, std::string(own.piece(TokenId{i})), own.type(TokenId{i})));
    }
    vocab_.model = "rwkv";
    vocab_.bos = vocab_.eos = 0;
    for (const TokenId end : own.end_tokens()) {
      if (to_index(end) != 0) vocab_.eot = static_cast<uint32_t>(to_index(end));
    }
    return {};
  }

  // Adds tokens for rows of the embedding that have none.
  Status fill() {
    const auto n = static_cast<size_t>(n_tokens_);
    vocab_.tokens.resize(n);
    vocab_.types.resize(n, number_of(TokenType::kUnused));
    for (size_t i = 0; i < n; ++i) {
      if (!vocab_.tokens[i].empty()) continue;
      vocab_.tokens[i] = fmt::format("[PAD{}]", i);
      vocab_.types[i] = number_of(TokenType::kUnused);
    }
    if (!vocab_.scores.empty()) vocab_.scores.resize(n, kUnusedScore);
    return {};
  }

  // Uses the name in tokenizer_config.json, or the id in config.json.
  std::optional<uint32_t> special_token(const std::string& name) const {
    const json& given = member(settings_, (name + "_token").c_str());
    std::string piece = given.is_string() ? given.get<std::string>() : string_member(given, "content");
    if (!piece.empty()) {
      auto found = std::ranges::find(vocab_.tokens, piece);
      if (found == vocab_.tokens.end() && vocab_.model == "bert") {
        found = std::ranges::find(vocab_.tokens, std::string(kMetaspace) + piece);
      }
      if (found != vocab_.tokens.end()) return static_cast<uint32_t>(found - vocab_.tokens.begin());
    }
    const auto id = config_.get_int(name + "_token_id");
    if (id.ok() && *id && **id >= 0 && **id < n_tokens_) return static_cast<uint32_t>(**id);
    return std::nullopt;
  }

  Status read_special_tokens() {
    const std::pair<const char*, std::optional<uint32_t>*> kNames[] = {
        {"bos", &vocab_.bos}, {"eos", &vocab_.eos}, {"unk", &vocab_.unk},  {"sep", &vocab_.sep},
        {"pad", &vocab_.pad}, {"cls", &vocab_.cls}, {"mask", &vocab_.mask}};
    for (const auto& [name, id] : kNames) {
      if (const auto found = special_token(name)) *id = found;
    }
    if (!vocab_.bos) vocab_.bos = vocab_.cls;
    if (!vocab_.eos) vocab_.eos = vocab_.sep;
    return read_special_places();
  }

  // Reads the special tokens that the folder's tokenizer puts around a text, and between two.
  Status read_special_places() {
    const auto [before, after] = ids_around(*own_);
    if (!before.empty() && !vocab_.bos) vocab_.bos = before.front();
    const std::optional<uint32_t> first = vocab_.cls && vocab_.model == "bert" ? vocab_.cls : vocab_.bos;
    vocab_.add_bos = !before.empty() && before.front() == first;
    if (!after.empty() && after.back() != vocab_.eos && after.back() != vocab_.sep) {
      // A text and a turn end with different tokens.
      if (vocab_.eos && !vocab_.eot) vocab_.eot = vocab_.eos;
      vocab_.eos = after.back();
    }
    vocab_.add_eos = !after.empty();
    if (before.size() > 1 || after.size() > 1 || *vocab_.add_bos == before.empty()) {
      vocab_.notes.push_back(
          fmt::format("the folder's tokenizer puts {} tokens before a text and {} after it; GGUF has one each",
                      before.size(), after.size()));
    }
    // "[CLS] a [SEP] b [SEP]", or "<s> a </s></s> b </s>".
    const size_t n_of_two = own_->encode_pair("", "").ids.size();
    if (before.size() == 1 && after.size() == 1 && n_of_two > 2) vocab_.add_sep = n_of_two > 3;
    return {};
  }

  static std::pair<std::vector<uint32_t>, std::vector<uint32_t>> ids_around(const text::Tokenizer& tokenizer) {
    constexpr std::string_view kAnyText = "a";
    const std::vector<TokenId> all = tokenizer.encode(kAnyText),
                               text = tokenizer.encode(kAnyText, {.add_special = false});
    const auto begin = std::search(all.begin(), all.end(), text.begin(), text.end());
    const auto end = begin == all.end() ? begin : begin + static_cast<std::ptrdiff_t>(text.size());
    std::vector<uint32_t> before, after;
    for (auto id = all.begin(); id != begin; ++id) before.push_back(static_cast<uint32_t>(to_index(*id)));
    for (auto id = end; id != all.end(); ++id) after.push_back(static_cast<uint32_t>(to_index(*id)));
    return {before, after};
  }

  Result<text::Tokenizer> own_tokenizer() const {
    const std::string settings = side_.tokenizer_config_json.value_or("");
    if (side_.tokenizer_json) return text::Tokenizer::from_hf(*side_.tokenizer_json, settings);
    if (side_.tokenizer_model) return text::Tokenizer::from_sentencepiece(*side_.tokenizer_model, settings);
    return text::Tokenizer::from_rwkv(*side_.rwkv_vocab, settings);
  }

  // Checks that both tokenizers give the same ids, except for the special tokens before and after a text.
  Status check() const {
    RZ_TRY(const text::Tokenizer made, text::Tokenizer::from_gguf(as_gguf_vocab(vocab_)));
    constexpr std::string_view kTexts[] = {
        "Hello world", "The quick brown fox jumps over 13 lazy dogs.", "it's 1234567 and 3.14, isn't it?",
        "def f(x):\n    return x + 1\n",
        "caf\u00E9 na\u00EFve \u4E2D\u6587 \u0440\u0443\u0441\u0441\u043A\u0438\u0439"};
    for (const std::string_view text : kTexts) {
      if (own_->encode(text, {.add_special = false}) == made.encode(text, {.add_special = false})) continue;
      return unsupported(
          fmt::format("tokenizer: GGUF's '{}' with pre-tokenizer '{}' cuts '{}' otherwise than the folder's tokenizer",
                      vocab_.model, vocab_.pre, text),
          "tokenizer");
    }
    return {};
  }

  const SideFiles& side_;
  const Metadata& config_;
  const std::string arch_;
  const int64_t n_tokens_;
  json settings_ = json::object();
  std::optional<text::Tokenizer> own_;  // of the folder
  FolderVocab vocab_;
  bool changes_letters_ = false;           // by the normalizer
  std::vector<std::string> bound_tokens_;  // tokens whose matches depend on the surrounding text
};

}  // namespace

Result<FolderVocab> read_folder_vocab(const SideFiles& side, const Metadata& config, const std::string& arch,
                                      uint32_t n_tokens, const std::string& pre, const EndSettings& changes) {
  if (side.tokenizer_json || side.tokenizer_model || side.rwkv_vocab) {
    return VocabReader(side, config, arch, n_tokens).read(pre, changes);
  }
  RZ_TRY(auto form, text::json_form_of({.tekken = side.tekken_json,
                                        .vocab = side.vocab_json,
                                        .merges = side.merges_txt,
                                        .config_json = side.tokenizer_config_json.value_or(""),
                                        .model_type = side.model_type}));
  SideFiles in_json = side;
  if (form) {
    in_json.tokenizer_json = std::move(form->tokenizer);
    in_json.tokenizer_config_json = std::move(form->config);
  }
  return VocabReader(in_json, config, arch, n_tokens).read(pre, changes);
}

text::GgufVocab as_gguf_vocab(const FolderVocab& vocab) {
  text::GgufVocab view;
  view.model = vocab.model;
  view.pre = vocab.pre;
  view.tokens.assign(vocab.tokens.begin(), vocab.tokens.end());
  view.merges.assign(vocab.merges.begin(), vocab.merges.end());
  view.scores = vocab.scores;
  view.token_types = vocab.types;
  view.bos_id = vocab.bos, view.eos_id = vocab.eos, view.eot_id = vocab.eot, view.unk_id = vocab.unk;
  view.sep_id = vocab.sep, view.pad_id = vocab.pad, view.cls_id = vocab.cls, view.mask_id = vocab.mask;
  view.add_bos = vocab.add_bos, view.add_eos = vocab.add_eos;
  view.add_space_prefix = vocab.add_space_prefix;
  view.add_sep = vocab.add_sep;
  view.remove_extra_whitespaces = vocab.remove_extra_whitespaces;
  view.lowercase = vocab.lowercase, view.strip_accents = vocab.strip_accents;
  view.precompiled_charsmap = vocab.charsmap;
  return view;
}

}  // namespace realizar
