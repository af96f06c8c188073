#include <utility>
#include <vector>

#include "base/printable.h"
#include "base/try.h"
#include "text/tokenizer/hf_json.h"
#include "text/tokenizer/hf_parts.h"

namespace realizar::text {
namespace {

Result<TokenId> read_token_id(int64_t id, const Vocabulary& vocab) {
  if (id < 0 || id >= vocab.size()) {
    return format_error(
        "post_processor: expected an id below " + std::to_string(vocab.size()) + ", got " + std::to_string(id),
        "post_processor");
  }
  return TokenId{static_cast<int32_t>(id)};
}

// Appends the ids of one special token of a template.
Status append_special(const element& section, std::string_view name, const Vocabulary& vocab,
                      std::vector<TokenId>& out) {
  simdjson::dom::array ids;
  element special_tokens;
  if (section["special_tokens"].get(special_tokens) != simdjson::SUCCESS ||
      special_tokens[name]["ids"].get(ids) != simdjson::SUCCESS) {
    return format_error("post_processor.special_tokens: no ids for '" + shown(name) + "'", "post_processor");
  }
  for (const element id : ids) {
    int64_t value = -1;
    if (id.get(value) != simdjson::SUCCESS) value = -1;
    RZ_TRY(const TokenId token, read_token_id(value, vocab));
    out.push_back(token);
  }
  return {};
}

// The tokens between the texts in the template of a pair, if there is one.
Status read_pair_template(const element& section, const Vocabulary& vocab, PostProcessor& post) {
  simdjson::dom::array pieces;
  if (section["pair"].get(pieces) != simdjson::SUCCESS) return {};
  std::vector<TokenId> between;
  size_t n_texts = 0;
  for (const element piece : pieces) {
    std::string_view name;
    if (piece["Sequence"]["id"].get(name) == simdjson::SUCCESS) ++n_texts;
    if (n_texts == 1 && piece["SpecialToken"]["id"].get(name) == simdjson::SUCCESS) {
      RZ_CHECK_OK(append_special(section, name, vocab, between));
    }
  }
  if (n_texts == 2) post.between = std::move(between);
  return {};
}

// The template of a single text: special tokens, and the text once.
Status read_template(const element& section, const Vocabulary& vocab, PostProcessor& post) {
  RZ_TRY(const simdjson::dom::array pieces, json_array(section, "single", "post_processor"));
  bool after_text = false;
  PostProcessor found;
  for (const element piece : pieces) {
    std::string_view name;
    if (piece["SpecialToken"]["id"].get(name) == simdjson::SUCCESS) {
      RZ_CHECK_OK(append_special(section, name, vocab, after_text ? found.suffix : found.prefix));
    } else if (piece["Sequence"]["id"].get(name) == simdjson::SUCCESS && !after_text) {
      after_text = true;
    } else {
      return unsupported("post_processor.single: expected special tokens and one sequence", "post_processor");
    }
  }
  if (!after_text) return unsupported("post_processor.single: has no place for the text", "post_processor");
  post.prefix.insert(post.prefix.begin(), found.prefix.begin(), found.prefix.end());
  post.suffix.insert(post.suffix.end(), found.suffix.begin(), found.suffix.end());
  return read_pair_template(section, vocab, post);
}

// "cls" and "sep" are pairs of piece and id. RoBERTa puts "sep" twice between two texts.
Status read_bert(const element& section, const Vocabulary& vocab, bool is_roberta, PostProcessor& post) {
  int64_t cls = -1;
  int64_t sep = -1;
  if (section["cls"].at(1).get(cls) != simdjson::SUCCESS || section["sep"].at(1).get(sep) != simdjson::SUCCESS) {
    return format_error("post_processor: expected cls and sep as [piece, id]", "post_processor");
  }
  RZ_TRY(const TokenId cls_id, read_token_id(cls, vocab));
  RZ_TRY(const TokenId sep_id, read_token_id(sep, vocab));
  post.prefix.insert(post.prefix.begin(), cls_id);
  post.suffix.push_back(sep_id);
  if (is_roberta) post.between = std::vector<TokenId>{sep_id, sep_id};
  return {};
}

Status read_one(const element& section, const Vocabulary& vocab, PostProcessor& post, int depth) {
  const std::string type = json_string(section, "type");
  if (type == "ByteLevel") return {};  // only affects offsets
  if (type == "TemplateProcessing") return read_template(section, vocab, post);
  const bool is_roberta = type == "RobertaProcessing";
  if (type == "BertProcessing" || is_roberta) return read_bert(section, vocab, is_roberta, post);
  if (type != "Sequence")
    return unsupported("post_processor: type '" + shown(type) + "' is not built", "post_processor");
  if (depth > kMaxSectionDepth) return format_error("post_processor: nested too deep", "post_processor");
  RZ_TRY(const simdjson::dom::array steps, json_array(section, "processors", "post_processor"));
  for (const element step : steps) RZ_CHECK_OK(read_one(step, vocab, post, depth + 1));
  return {};
}

}  // namespace

Result<PostProcessor> read_post_processor(const JsonElement& section, const Vocabulary& vocab) {
  PostProcessor post;
  if (!section.is_null()) RZ_CHECK_OK(read_one(section, vocab, post, 0));
  return post;
}

}  // namespace realizar::text
