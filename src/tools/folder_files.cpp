#include "tools/folder_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/try.h"
#include "text/tokenizer/byte_spelling.h"
#include "text/tokenizer/pre_tokenizer_table.h"
#include "tools/folder_vocab.h"
#include "tools/generation_keys.h"

namespace realizar {
namespace {

using Json = nlohmann::ordered_json;
using text::TokenType;

constexpr std::string_view kSpaceMark = "\u2581";
constexpr const char* kGenerationConfig = "generation_config.json";
constexpr uint64_t kMostKeptBytes = 1 << 24;

// Keys that the conversion to GGUF creates anew.
bool is_made_anew(std::string_view key) {
  constexpr std::string_view kMade[] = {"general.architecture", "general.type",       "general.file_type",
                                        "general.alignment",    "general.size_label", "general.quantization_version"};
  return std::ranges::find(kMade, key) != std::end(kMade);
}

Json special_json(int64_t id, const std::string& piece, bool is_special) {
  return {{"id", id},        {"content", piece},    {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", is_special}};
}

// A chat template whose name is not usable as a file name.
bool is_odd_template(std::string_view key) {
  const std::string prefix = std::string(kGgufTemplateKey) + ".";
  return key.starts_with(prefix) && !is_plain_template_name(key.substr(prefix.size()));
}

class FolderFiles {
 public:
  FolderFiles(const ModelFile& gguf, const ModelConfig& config, const EndSettings& changes, HfPlan& plan)
      : gguf_(gguf), config_(config), changes_(changes), plan_(plan) {}

  Status add() {
    add_kept_keys();
    RZ_TRY(const auto model, gguf_.metadata().get_string("tokenizer.ggml.model"));
    const auto tokens = gguf_.metadata().get_strings("tokenizer.ggml.tokens");
    if (!model || *model == "none" || *model == "no_vocab" || !tokens.ok() || !*tokens) {
      plan_.notes.emplace_back("the file has no vocabulary, so the folder has no tokenizer");
      return {};
    }
    RZ_TRY(vocab_, read_file_vocab(gguf_.metadata()));
    if (vocab_.model == "gpt2" || vocab_.model == "gemma4") {
      RZ_CHECK_OK(add_bpe());
    } else if (vocab_.model == "llama" || vocab_.model == "t5") {
      plan_.side_files["tokenizer.model"] = sentencepiece_model(vocab_);
    } else if (vocab_.model == "bert") {
      RZ_CHECK_OK(add_wordpiece());
    } else if (vocab_.model == "rwkv") {
      RZ_CHECK_OK(add_rwkv());
    } else {
      return unsupported(
          fmt::format("{}: tokenizer.ggml.model '{}' has no form in a folder", gguf_.path().string(), vocab_.model),
          "tokenizer.ggml.model");
    }
    RZ_CHECK_OK(add_settings());
    return check();
  }

 private:
  TokenType type(size_t id) const { return static_cast<TokenType>(vocab_.types[id]); }
  bool is_hole(size_t id) const {
    return type(id) == TokenType::kUnused && vocab_.tokens[id] == fmt::format("[PAD{}]", id);
  }
  bool is_added(size_t id) const {
    return type(id) == TokenType::kControl || type(id) == TokenType::kUserDefined || type(id) == TokenType::kUnknown;
  }

  Json added_tokens() const {
    Json added = Json::array();
    for (size_t id = 0; id < vocab_.tokens.size(); ++id) {
      if (is_added(id)) {
        added.push_back(special_json(static_cast<int64_t>(id), vocab_.tokens[id], type(id) != TokenType::kUserDefined));
      }
    }
    return added;
  }

  // The special tokens around a text, in the form of tokenizer.json.
  Json post_processor(const std::vector<uint32_t>& first, const std::vector<uint32_t>& last, bool has_pairs) const {
    const Json sequence_a = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
    const Json sequence_b = {{"Sequence", {{"id", "B"}, {"type_id", 1}}}};
    Json single = Json::array(), specials = Json::object();
    const auto special = [&](uint32_t id) {
      const std::string& piece = vocab_.tokens[id];
      specials[piece] = {{"id", piece}, {"ids", {id}}, {"tokens", {piece}}};
      return Json{{"SpecialToken", {{"id", piece}, {"type_id", 0}}}};
    };
    for (const uint32_t id : first) single.push_back(special(id));
    single.push_back(sequence_a);
    for (const uint32_t id : last) single.push_back(special(id));
    Json pair = single;
    for (const uint32_t id : has_pairs ? std::vector<uint32_t>() : first) pair.push_back(special(id));
    pair.push_back(sequence_b);
    for (const uint32_t id : last) pair.push_back(special(id));
    return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", specials}};
  }

  Status put_json(const char* name, const Json& json) {
    try {
      plan_.side_files[name] = json.dump(2) + "\n";
    } catch (const Json::type_error&) {
      return unsupported(fmt::format("{}: the vocabulary has pieces that are not UTF-8, which {} cannot have",
                                     gguf_.path().string(), name),
                         "tokenizer.ggml.tokens");
    }
    return {};
  }

  Status add_bpe() {
    const bool is_gemma = vocab_.model == "gemma4";
    const text::NamedPreTokenizer* named = text::find_pre_tokenizer(is_gemma ? "gemma4" : vocab_.pre);
    if (named == nullptr) {
      return unsupported(fmt::format("{}: tokenizer.ggml.pre '{}' is not built", gguf_.path().string(), vocab_.pre),
                         "tokenizer.ggml.pre");
    }
    const bool adds_bos = vocab_.add_bos.value_or(named->add_bos) && vocab_.bos;
    const bool adds_eos = vocab_.add_eos.value_or(false) && vocab_.eos;
    vocab_.add_bos = adds_bos;
    const Json byte_level = {
        {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
    Json steps = Json::array();
    for (const std::string_view regex : named->regexes) {
      steps.push_back(
          {{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", "Isolated"}, {"invert", false}});
    }
    if (named->byte_level) steps.push_back(byte_level);
    Json root = {{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}, {"added_tokens", added_tokens()}};
    root["normalizer"] = named->byte_level
                             ? Json(nullptr)
                             : Json{{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", kSpaceMark}};
    root["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", std::move(steps)}};
    std::vector<uint32_t> first, last;
    if (adds_bos) first.push_back(*vocab_.bos);
    if (adds_eos) last.push_back(*vocab_.eos);
    root["post_processor"] = adds_bos || adds_eos ? post_processor(first, last, false) : byte_level;
    root["decoder"] = named->byte_level ? byte_level : metaspace_decoder();
    root["model"] = bpe_model(*named);
    return put_json("tokenizer.json", root);
  }

  static Json metaspace_decoder() {
    return {{"type", "Sequence"},
            {"decoders",
             {{{"type", "Replace"}, {"pattern", {{"String", kSpaceMark}}}, {"content", " "}},
              {{"type", "ByteFallback"}},
              {{"type", "Fuse"}}}}};
  }

  Json bpe_model(const text::NamedPreTokenizer& named) const {
    Json vocab = Json::object(), merges = Json::array();
    for (size_t id = 0; id < vocab_.tokens.size(); ++id) {
      if (!is_hole(id) && type(id) != TokenType::kControl && type(id) != TokenType::kUserDefined) {
        vocab[vocab_.tokens[id]] = id;
      }
    }
    for (const std::string& merge : vocab_.merges) {
      const size_t space = merge.find(' ', 1);
      if (space == std::string::npos) continue;
      merges.push_back({merge.substr(0, space), merge.substr(space + 1)});
    }
    return {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", !named.byte_level && vocab_.unk ? Json(vocab_.tokens[*vocab_.unk]) : Json(nullptr)},
            {"continuing_subword_prefix", nullptr},
            {"end_of_word_suffix", nullptr},
            {"fuse_unk", !named.byte_level},
            {"byte_fallback", !named.byte_level},
            {"ignore_merges", named.ignore_merges},
            {"vocab", std::move(vocab)},
            {"merges", std::move(merges)}};
  }

  Status add_wordpiece() {
    Json vocab = Json::object();
    for (size_t id = 0; id < vocab_.tokens.size(); ++id) {
      if (!is_hole(id)) vocab[wordpiece(id)] = id;
    }
    const auto first = vocab_.cls ? vocab_.cls : vocab_.bos, last = vocab_.sep ? vocab_.sep : vocab_.eos;
    Json root = {{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}, {"added_tokens", added_tokens()}};
    root["normalizer"] = {{"type", "BertNormalizer"},
                          {"clean_text", true},
                          {"handle_chinese_chars", true},
                          {"strip_accents", vocab_.strip_accents ? Json(*vocab_.strip_accents) : Json(nullptr)},
                          {"lowercase", vocab_.lowercase.value_or(true)}};
    root["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
    const bool adds = vocab_.add_bos.value_or(true) && first && vocab_.add_eos.value_or(true) && last;
    root["post_processor"] = adds ? post_processor({*first}, {*last}, true) : Json(nullptr);
    root["decoder"] = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}};
    root["model"] = {{"type", "WordPiece"},
                     {"unk_token", vocab_.unk ? wordpiece(*vocab_.unk) : "[UNK]"},
                     {"continuing_subword_prefix", "##"},
                     {"max_input_chars_per_word", 100},
                     {"vocab", std::move(vocab)}};
    return put_json("tokenizer.json", root);
  }

  // BERT's spelling: pieces that continue a word have a mark, those that begin one do not.
  std::string wordpiece(size_t id) const {
    const std::string& piece = vocab_.tokens[id];
    if (piece.starts_with(kSpaceMark)) return piece.substr(kSpaceMark.size());
    const bool is_in_brackets = piece.starts_with('[') && piece.ends_with(']');
    return is_in_brackets || is_added(id) ? piece : "##" + piece;
  }

  // One token per line: the id, its bytes as Python writes them, and their number.
  Status add_rwkv() {
    std::string lines;
    for (size_t id = 1; id < vocab_.tokens.size(); ++id) {
      if (is_hole(id)) continue;
      RZ_TRY(const std::string bytes, text::unescape(vocab_.tokens[id], text::Escapes::kBytes));
      lines += fmt::format("{} b'", id);
      for (const char byte : bytes) lines += fmt::format("\\x{:02x}", static_cast<uint8_t>(byte));
      lines += fmt::format("' {}\n", bytes.size());
    }
    plan_.side_files["rwkv_vocab_v20230424.txt"] = lines;
    return {};
  }

  Status add_settings() {
    Json settings = Json::object();
    const std::pair<const char*, std::optional<uint32_t>> kTokens[] = {
        {"bos_token", vocab_.bos}, {"eos_token", vocab_.eos}, {"unk_token", vocab_.unk},  {"sep_token", vocab_.sep},
        {"pad_token", vocab_.pad}, {"cls_token", vocab_.cls}, {"mask_token", vocab_.mask}};
    for (const auto& [name, id] : kTokens) {
      if (id) settings[name] = vocab_.model == "bert" ? wordpiece(*id) : vocab_.tokens[*id];
    }
    const bool is_spm = vocab_.model == "llama";
    settings["add_bos_token"] = vocab_.add_bos.value_or(is_spm);
    settings["add_eos_token"] = vocab_.add_eos.value_or(vocab_.model == "t5");
    if (is_spm) settings["legacy"] = true;
    settings["clean_up_tokenization_spaces"] = false;
    settings["model_max_length"] = config_.n_ctx_train;
    settings["tokenizer_class"] = is_spm                   ? "LlamaTokenizer"
                                  : vocab_.model == "bert" ? "BertTokenizerFast"
                                                           : "PreTrainedTokenizerFast";
    RZ_CHECK_OK(put_json("tokenizer_config.json", settings));
    add_templates();
    Json generation = {{"_from_model_config", true}};
    if (vocab_.bos) generation["bos_token_id"] = *vocab_.bos;
    RZ_TRY(const text::Tokenizer own, text::Tokenizer::from_gguf(as_gguf_vocab(vocab_)));
    RZ_TRY(ends_, changed_ends(own, gguf_end_claims(gguf_.metadata()), changes_, plan_.notes));
    if (ends_.size() == 1) generation["eos_token_id"] = ends_.front();
    if (ends_.size() > 1) generation["eos_token_id"] = ends_;
    if (vocab_.pad) generation["pad_token_id"] = *vocab_.pad;
    add_recommended_sampling(gguf_.metadata(), generation);
    return put_json(kGenerationConfig, generation);
  }

  // Adds end tokens of the folder's tokenizer that the file does not have.
  Status add_denied_ends(const text::Tokenizer& made) {
    SideFiles side;
    side.tokenizer_config_json = plan_.side_files.at("tokenizer_config.json");
    side.generation_config_json = plan_.side_files.at(kGenerationConfig);
    side.config_json = plan_.config;
    std::vector<std::string> no_notes;
    RZ_TRY(const auto ends, changed_ends(made, folder_end_claims(side), {}, no_notes));
    const std::vector<uint32_t> denied = without(ends, ends_);
    if (denied.empty()) return {};
    Json generation = Json::parse(*side.generation_config_json);
    generation[kFolderNoEndIdsKey] = denied;
    plan_.notes.push_back(
        fmt::format("the tokens that end no answer are in generation_config.json's {}, which other "
                    "programs may not read",
                    kFolderNoEndIdsKey));
    return put_json(kGenerationConfig, generation);
  }

  void add_templates() {
    for (const NamedTemplate& one : gguf_templates(gguf_.metadata())) {
      const bool is_usual = one.name == kDefaultTemplate;
      if (!is_usual && !is_plain_template_name(one.name)) continue;  // added by add_kept_keys()
      plan_.side_files[is_usual ? "chat_template.jinja" : fmt::format("{}/{}.jinja", kTemplateFolder, one.name)] =
          one.source;
    }
  }

  // Checks that both tokenizers give the same ids.
  Status check() {
    RZ_TRY(const text::Tokenizer own, text::Tokenizer::from_gguf(as_gguf_vocab(vocab_)));
    const std::string settings = plan_.side_files.at("tokenizer_config.json");
    const auto file = [&](const char* name) {
      const auto found = plan_.side_files.find(name);
      return found == plan_.side_files.end() ? nullptr : &found->second;
    };
    auto made = file("tokenizer.json")    ? text::Tokenizer::from_hf(*file("tokenizer.json"), settings)
                : file("tokenizer.model") ? text::Tokenizer::from_sentencepiece(*file("tokenizer.model"), settings)
                                          : text::Tokenizer::from_rwkv(*file("rwkv_vocab_v20230424.txt"), settings);
    if (!made.ok()) return std::move(made).error();
    for (const std::string_view text : {"Hello world", "it's 1234567 and 3.14, isn't it?", "def f(x):\n    return x\n",
                                        "caf\u00E9 \u4E2D\u6587 \u0440\u0443\u0441"}) {
      if (own.encode(text) == made->encode(text)) continue;
      return unsupported(
          fmt::format("{}: a folder's tokenizer cuts '{}' otherwise than the file's", gguf_.path().string(), text),
          "tokenizer.ggml.model");
    }
    return add_denied_ends(*made);
  }

  // Adds the keys that have no other place in a folder.
  void add_kept_keys() {
    Json kept = Json::object();
    for (const auto& [key, value] : gguf_.metadata().entries()) {
      const bool is_general = key.starts_with("general.") && !is_made_anew(key) && !is_sampling_key(key);
      const bool is_kept = is_general || key == "tokenizer.ggml.pre" || is_odd_template(key);
      if (!is_kept) continue;
      if (const auto* text = std::get_if<std::string>(&value)) kept[key] = *text;
      if (const auto* flag = std::get_if<bool>(&value)) kept[key] = *flag;
      if (const auto* number = std::get_if<uint64_t>(&value)) kept[key] = *number;
      if (const auto* number = std::get_if<int64_t>(&value)) kept[key] = *number;
      if (const auto* array = std::get_if<MetaArray>(&value)) {
        if (const auto* texts = std::get_if<std::vector<std::string_view>>(array)) kept[key] = *texts;
      }
    }
    if (!kept.empty())
      plan_.side_files[kGgufMetadataFile] = kept.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  }

  const ModelFile& gguf_;
  const ModelConfig& config_;
  const EndSettings& changes_;
  HfPlan& plan_;
  FolderVocab vocab_;
  std::vector<uint32_t> ends_;
};

}  // namespace

Status add_folder_files(const ModelFile& gguf, const ModelConfig& config, HfPlan& plan, const EndSettings& changes) {
  return FolderFiles(gguf, config, changes, plan).add();
}

Status read_kept_keys(const ModelFile& folder, GgufKeys& keys) {
  std::error_code error;
  const std::filesystem::path path = folder.path() / kGgufMetadataFile;
  if (!std::filesystem::exists(path, error)) return {};
  RZ_TRY(const std::string text, read_file(path, kMostKeptBytes));
  const Json kept = Json::parse(text, nullptr, false);
  if (!kept.is_object()) return format_error(fmt::format("{}: expected a JSON object", path.string()), path.string());
  for (const auto& [key, value] : kept.items()) {
    const bool is_known = (key.starts_with("general.") && !is_made_anew(key)) || key.starts_with("tokenizer.");
    if (!is_known) continue;
    if (value.is_string()) keys.set(key, value.get<std::string>());
    if (value.is_boolean()) keys.set(key, value.get<bool>());
    const bool is_u32 = value.is_number_unsigned() && value.get<uint64_t>() <= UINT32_MAX;
    if (is_u32) keys.set(key, value.get<uint32_t>());
    const bool are_texts =
        value.is_array() && std::ranges::all_of(value, [](const Json& entry) { return entry.is_string(); });
    if (are_texts) keys.set(key, value.get<std::vector<std::string>>());
  }
  return {};
}

}  // namespace realizar
