// Converts GPT-2's vocab.json and merges.txt to tokenizer.json, like transformers' classes.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/plain_json.h"
#include "base/printable.h"
#include "base/try.h"
#include "text/tokenizer/json_forms.h"
#include "text/tokenizer/pre_tokenizer_table.h"

namespace realizar::text {
namespace {

using Json = nlohmann::json;

constexpr const char *kVocabFile = "vocab.json", *kMergesFile = "merges.txt";

struct MergesClass {
  std::string_view tokenizer_class;  // without "Fast"
  std::string_view pre;              // GGUF's name of the pre-tokenizer
  bool composes = false;             // NFC
  bool is_roberta = false;           // <s> and </s> around a text
};

constexpr MergesClass kClasses[] = {
    {"GPT2Tokenizer", "gpt-2"},
    {"CodeGenTokenizer", "gpt-2"},
    {"Qwen2Tokenizer", "qwen2", true},
    {"RobertaTokenizer", "gpt-2", false, true},
    {"BartTokenizer", "gpt-2", false, true},
};

struct ModelClass {
  std::string_view model_type, tokenizer_class;
};

constexpr ModelClass kModelClasses[] = {
    {"gpt2", "GPT2Tokenizer"},       {"opt", "GPT2Tokenizer"},         {"gpt_neo", "GPT2Tokenizer"},
    {"gptj", "GPT2Tokenizer"},       {"gpt_bigcode", "GPT2Tokenizer"}, {"starcoder2", "GPT2Tokenizer"},
    {"phi", "CodeGenTokenizer"},     {"codegen", "CodeGenTokenizer"},  {"qwen2", "Qwen2Tokenizer"},
    {"qwen2_moe", "Qwen2Tokenizer"}, {"qwen3", "Qwen2Tokenizer"},      {"qwen3_moe", "Qwen2Tokenizer"},
    {"roberta", "RobertaTokenizer"}, {"bart", "BartTokenizer"},
};

Result<const MergesClass*> find_class(const Json& config, std::string_view model_type) {
  std::string name;
  if (const auto given = config.find("tokenizer_class"); given != config.end() && given->is_string()) {
    name = given->get<std::string>();
  }
  if (name.ends_with("Fast")) name.resize(name.size() - 4);
  const auto by_model = std::ranges::find(kModelClasses, model_type, &ModelClass::model_type);
  if ((name.empty() || name == "PreTrainedTokenizer") && by_model != std::end(kModelClasses)) {
    name = by_model->tokenizer_class;
  }
  const auto found = std::ranges::find(kClasses, name, &MergesClass::tokenizer_class);
  if (found != std::end(kClasses)) return &*found;
  return unsupported(
      std::string(kVocabFile) + " and " + kMergesFile + " of the class '" + shown(name) +
          "' are not read: expected GPT2Tokenizer, CodeGenTokenizer, Qwen2Tokenizer, RobertaTokenizer or "
          "BartTokenizer, or a tokenizer.json",
      "tokenizer_class");
}

Result<Json> read_object(std::string_view text, const char* name) {
  Json json = Json::parse(plain_json(text), nullptr, false);
  if (json.is_object()) return json;
  return format_error(std::string(name) + ": expected a JSON object", name);
}

// One rule per line, after a line with the version.
Result<Json> read_rules(std::string_view merges) {
  Json rules = Json::array();
  for (size_t at = 0, n_line = 1; at < merges.size(); ++n_line) {
    const size_t end = std::min(merges.find('\n', at), merges.size());
    std::string_view line = merges.substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    at = end + 1;
    if (line.empty() || (n_line == 1 && line.starts_with("#version"))) continue;
    const size_t space = line.find(' ');
    if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos) {
      return format_error(std::string(kMergesFile) + ": line " + std::to_string(n_line) +
                              ": expected two pieces, got '" + shown(line) + "'",
                          kMergesFile);
    }
    rules.push_back({line.substr(0, space), line.substr(space + 1)});
  }
  return rules;
}

// Names of special tokens that are pieces of the vocabulary, which has their ids.
void add_named_tokens(const Json& named, const Json& vocab, bool is_mask, Json& added) {
  if (named.is_array()) {
    for (const Json& one : named) add_named_tokens(one, vocab, is_mask, added);
    return;
  }
  const Json& content = named.is_object() && named.contains("content") ? named["content"] : named;
  if (!content.is_string() || !vocab.contains(content.get_ref<const std::string&>())) return;
  const Json& id = vocab[content.get_ref<const std::string&>()];
  const bool is_known = std::ranges::any_of(added, [&](const Json& other) { return other["id"] == id; });
  if (is_known) return;
  added.push_back({{"id", id}, {"content", content}, {"special", true}, {"lstrip", is_mask}, {"normalized", false}});
}

Json byte_level(bool uses_regex) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", uses_regex}};
}

Json pre_tokenizer(const MergesClass& kind) {
  Json steps = Json::array();
  for (const std::string_view regex : find_pre_tokenizer(kind.pre)->regexes) {
    steps.push_back({{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", "Isolated"}, {"invert", false}});
  }
  steps.push_back(byte_level(false));
  return {{"type", "Sequence"}, {"pretokenizers", steps}};
}

Json post_processor(const MergesClass& kind, const Json& vocab) {
  if (!kind.is_roberta || !vocab.contains("<s>") || !vocab.contains("</s>")) return nullptr;
  return {{"type", "RobertaProcessing"},
          {"cls", Json::array({"<s>", vocab["<s>"]})},
          {"sep", Json::array({"</s>", vocab["</s>"]})}};
}

// The classes' default names, used if the folder sets none.
void set_default_tokens(const MergesClass& kind, const Json& vocab, Json& config) {
  const std::string_view bos = kind.is_roberta ? "<s>" : "<|endoftext|>", eos = kind.is_roberta ? "</s>" : bos;
  const bool has_bos = !kind.composes;  // Qwen has none
  const auto set = [&](const char* key, std::string_view piece) {
    if (!config.contains(key) && vocab.contains(piece)) config[key] = piece;
  };
  if (has_bos) set("bos_token", bos);
  set("eos_token", eos);
  if (kind.is_roberta) set("pad_token", "<pad>"), set("mask_token", "<mask>");
}

}  // namespace

Result<TokenizerJson> json_of_merges(std::string_view vocab_json, std::string_view merges, std::string_view config_json,
                                     std::string_view model_type) {
  RZ_TRY(Json config, read_object(config_json.empty() ? "{}" : config_json, "tokenizer_config.json"));
  RZ_TRY(const MergesClass* kind, find_class(config, model_type));
  RZ_TRY(const Json vocab, read_object(vocab_json, kVocabFile));
  RZ_TRY(Json rules, read_rules(merges));
  set_default_tokens(*kind, vocab, config);
  Json added = Json::array();
  for (const auto& [key, value] : config.items()) {
    const bool is_list = key == "additional_special_tokens";
    if (is_list || key.ends_with("_token")) add_named_tokens(value, vocab, key == "mask_token", added);
  }
  const Json root = {{"version", "1.0"},
                     {"added_tokens", added},
                     {"normalizer", kind->composes ? Json{{"type", "NFC"}} : Json()},
                     {"pre_tokenizer", pre_tokenizer(*kind)},
                     {"post_processor", post_processor(*kind, vocab)},
                     {"decoder", byte_level(true)},
                     {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", std::move(rules)}}}};
  const auto text_of = [](const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); };
  return TokenizerJson{text_of(root), text_of(config)};
}

Result<std::optional<TokenizerJson>> json_form_of(const OtherForms& forms) {
  if (forms.tekken) {
    RZ_TRY(TokenizerJson form, json_of_tekken(*forms.tekken, forms.config_json));
    return std::optional(std::move(form));
  }
  if (!forms.vocab || !forms.merges) return std::optional<TokenizerJson>();
  RZ_TRY(TokenizerJson form, json_of_merges(*forms.vocab, *forms.merges, forms.config_json, forms.model_type));
  return std::optional(std::move(form));
}

}  // namespace realizar::text
