// Builds a tokenizer from a serialized sentencepiece ModelProto, supplemented by tokenizer_config.json.
#include <algorithm>
#include <charconv>
#include <utility>

#include "base/printable.h"
#include "base/try.h"
#include "text/tokenizer/builders.h"
#include "text/tokenizer/hf_json.h"
#include "text/tokenizer/model_proto.h"

namespace realizar::text {
namespace {

constexpr int64_t kMaxAddedTokens = 65536;
// For ChatGLM: [gMASK] and sop precede every text, and a turn of the user or of a tool ends the model's.
constexpr const char* kChatGlmTokens[] = {"[MASK]",   "[gMASK]",       "[sMASK]",        "sop", "eop", "<|system|>",
                                          "<|user|>", "<|assistant|>", "<|observation|>"};
constexpr int32_t kGMask = 1, kSop = 3, kUser = 6;

// added_tokens_decoder: tokens beyond the pieces, and pieces that count as special.
Status add_token(std::string_view key, const element& entry, SpmDescription& description) {
  int64_t id = -1;
  const auto parsed = std::from_chars(key.data(), key.data() + key.size(), id);
  const auto n = static_cast<int64_t>(description.pieces.size());
  if (parsed.ec != std::errc() || id < 0 || id >= n + kMaxAddedTokens) {
    return format_error("added_tokens_decoder: expected ids near " + std::to_string(n) + ", got '" + shown(key) + "'",
                        "added_tokens_decoder");
  }
  const auto i = static_cast<size_t>(id);
  if (id >= n) {
    description.pieces.resize(i + 1);
    description.scores.resize(i + 1);
    description.types.resize(i + 1, TokenType::kUnused);
    description.pieces[i] = json_string(entry, "content");
    description.types[i] = TokenType::kUserDefined;
  }
  if (json_bool(entry, "special", false) && description.types[i] != TokenType::kUnknown) {
    description.types[i] = TokenType::kControl;
  }
  return {};
}

// The folders of ChatGLM 2 and 3 do not list all tokens beyond the pieces: the tokenizer's code defines them.
void add_chatglm_tokens(SpmDescription& description) {
  for (const char* piece : kChatGlmTokens) {
    description.pieces.emplace_back(piece);
    description.scores.push_back(0);
    description.types.push_back(TokenType::kControl);
  }
  description.add_bos = false;
}

std::optional<TokenId> find_piece(const SpmDescription& description, const element& config, std::string_view key) {
  std::string_view piece;
  if (config[key].get(piece) != simdjson::SUCCESS && config[key]["content"].get(piece) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  const auto found = std::find(description.pieces.begin(), description.pieces.end(), piece);
  if (piece.empty() || found == description.pieces.end()) return std::nullopt;
  return TokenId{static_cast<int32_t>(found - description.pieces.begin())};
}

Status read_config(const element& config, SpmDescription& description) {
  simdjson::dom::object added;
  if (config["added_tokens_decoder"].get(added) == simdjson::SUCCESS) {
    for (const auto [key, entry] : added) RZ_CHECK_OK(add_token(key, entry, description));
  }
  if (const auto bos = find_piece(description, config, "bos_token")) description.bos = bos;
  if (const auto eos = find_piece(description, config, "eos_token")) description.eos = eos;
  description.add_bos = json_bool(config, "add_bos_token", description.add_bos);
  description.add_eos = json_bool(config, "add_eos_token", description.add_eos);
  // "legacy": every text between special tokens gets its own space.
  description.whitespace.prefix_every_segment = json_bool(config, "legacy", true);
  description.whitespace.add_prefix = json_bool(config, "add_prefix_space", description.whitespace.add_prefix);
  return {};
}

}  // namespace

Result<TokenizerParts> build_spm_model(std::string_view model, std::string_view config_json) {
  simdjson::dom::parser parser;
  RZ_TRY(const element config,
         parse_side_file(parser, config_json.empty() ? "{}" : config_json, "tokenizer_config.json"));
  const std::string tokenizer_class = json_string(config, "tokenizer_class");
  if (tokenizer_class == "ChatGLM4Tokenizer") return build_tiktoken(model, config);
  RZ_TRY(SpmDescription description, read_model_proto(model));
  description.add_bos = !description.unigram;  // the default of Llama's tokenizers
  const auto n_pieces = static_cast<int32_t>(description.pieces.size());
  const bool is_chatglm = tokenizer_class == "ChatGLMTokenizer";
  if (is_chatglm) add_chatglm_tokens(description);
  if (!config_json.empty()) RZ_CHECK_OK(read_config(config, description));
  RZ_TRY(TokenizerParts parts, build_spm(std::move(description)));
  if (!is_chatglm) return parts;
  parts.post.prefix = {TokenId{n_pieces + kGMask}, TokenId{n_pieces + kSop}};
  parts.end_tokens.push_back(TokenId{n_pieces + kUser});
  return parts;
}

}  // namespace realizar::text
