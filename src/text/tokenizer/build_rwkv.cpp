// RWKV's World vocabulary, from GGUF metadata or from its own file with one token per line: byte strings, of which the
// longest match in a text is taken.
#include <charconv>
#include <utility>

#include "base/printable.h"
#include "base/try.h"
#include "text/tokenizer/builders.h"
#include "text/tokenizer/byte_spelling.h"
#include "text/tokenizer/gguf_vocab.h"
#include "text/tokenizer/hf_json.h"
#include "text/tokenizer/plain_types.h"

namespace realizar::text {
namespace {

constexpr const char* kFile = "rwkv_vocab_v20230424.txt";
constexpr int64_t kMaxTokens = 1 << 20;
// llama.cpp's converter uses this name for the token that separates texts, which the file omits.
constexpr const char* kDivider = "<s>";
constexpr std::string_view kEndOfTurn = "\n\n";

// Sets the parts that are derived from the vocabulary and `decoded`.
Status add_model(TokenizerParts& parts, std::optional<TokenId> unk, std::optional<TokenId> eot) {
  RZ_TRY(parts.model, make_longest_match_model(*parts.vocab, parts.decoded, unk));
  parts.keeps_invalid_utf8 = !unk;
  parts.added = find_added_tokens(*parts.vocab);
  parts.end_tokens = find_end_tokens(*parts.vocab, parts.eos, eot);
  return {};
}

// A line of the file: the id, the token in Python's notation, and its length in bytes.
struct Line {
  int64_t id = 0;
  std::string bytes;
};

Error bad_line(size_t n_line, const std::string& why) {
  return format_error(std::string(kFile) + ": line " + std::to_string(n_line) + ": " + why, kFile);
}

Result<int64_t> read_number(std::string_view digits, size_t n_line, int64_t end) {
  int64_t number = -1;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size() && number >= 0 && number < end) {
    return number;
  }
  return bad_line(n_line, "expected a number below " + std::to_string(end) + ", got '" + shown(digits) + "'");
}

Result<std::string> read_literal(std::string_view literal, size_t n_line) {
  const bool is_bytes = literal.starts_with('b');
  if (is_bytes) literal.remove_prefix(1);
  const bool is_quoted =
      literal.size() >= 2 && (literal[0] == '\'' || literal[0] == '"') && literal.front() == literal.back();
  if (!is_quoted) return bad_line(n_line, "expected a token in quotes, got '" + shown(literal) + "'");
  literal = literal.substr(1, literal.size() - 2);
  return unescape(literal, is_bytes ? Escapes::kBytes : Escapes::kCharacters);
}

Result<Line> read_line(std::string_view text, size_t n_line) {
  const size_t first = text.find(' '), last = text.rfind(' ');
  if (first == std::string_view::npos || first == last) {
    return bad_line(n_line, "expected an id, a token and its length, got '" + shown(text) + "'");
  }
  Line line;
  RZ_TRY(line.id, read_number(text.substr(0, first), n_line, kMaxTokens));
  RZ_TRY(line.bytes, read_literal(text.substr(first + 1, last - first - 1), n_line));
  RZ_TRY(const int64_t n_bytes, read_number(text.substr(last + 1), n_line, kMaxTokens));
  if (static_cast<size_t>(n_bytes) == line.bytes.size()) return line;
  return bad_line(
      n_line, "expected a token of " + std::to_string(n_bytes) + " bytes, got " + std::to_string(line.bytes.size()));
}

// Indexed by id; ids that the file omits are empty.
Result<std::vector<std::string>> read_lines(std::string_view file) {
  std::vector<std::string> tokens(1);
  for (size_t at = 0, n_line = 1; at < file.size(); ++n_line) {
    const size_t end = std::min(file.find('\n', at), file.size());
    std::string_view text = file.substr(at, end - at);
    if (text.ends_with('\r')) text.remove_suffix(1);
    at = end + 1;
    if (text.empty()) continue;
    RZ_TRY(Line line, read_line(text, n_line));
    const auto id = static_cast<size_t>(line.id);
    if (id >= tokens.size()) tokens.resize(id + 1);
    if (id == 0 || !tokens[id].empty()) return bad_line(n_line, "the id " + std::to_string(id) + " is taken");
    tokens[id] = std::move(line.bytes);
  }
  return tokens;
}

// The separator's name in tokenizer_config.json, if there is one.
std::string read_divider(std::string_view config_json) {
  simdjson::dom::parser parser;
  const auto config = parse_side_file(parser, config_json, "tokenizer_config.json");
  const auto added = config.ok() ? json_member(*config, "added_tokens_decoder") : std::nullopt;
  const auto entry = added ? json_member(*added, "0") : std::nullopt;
  return entry ? json_string(*entry, "content", kDivider) : kDivider;
}

}  // namespace

Result<TokenizerParts> build_rwkv_gguf(const GgufVocab& vocab) {
  const size_t n = vocab.tokens.size();
  if (n == 0) return format_error("tokenizer.ggml.tokens: the vocabulary is empty", "tokenizer.ggml.tokens");
  RZ_TRY(std::vector<TokenType> types, read_token_types(vocab));
  TokenizerParts parts;
  for (size_t i = 0; i < n; ++i) {
    RZ_TRY(const std::string bytes, unescape(vocab.tokens[i], Escapes::kBytes));
    parts.decoded.add(bytes);
    if (bytes.size() == 1 && !types.empty()) types[i] = TokenType::kNormal;
  }
  parts.vocab = std::make_unique<Vocabulary>(vocab.tokens, std::move(types));
  RZ_TRY(parts.bos, read_token_id(vocab.bos_id, n, "tokenizer.ggml.bos_token_id"));
  RZ_TRY(parts.eos, read_token_id(vocab.eos_id, n, "tokenizer.ggml.eos_token_id"));
  RZ_TRY(const std::optional<TokenId> eot, read_token_id(vocab.eot_id, n, "tokenizer.ggml.eot_token_id"));
  RZ_TRY(const std::optional<TokenId> unk, read_token_id(vocab.unk_id, n, "tokenizer.ggml.unknown_token_id"));
  RZ_CHECK_OK(add_model(parts, unk, eot));
  if (vocab.add_bos.value_or(false) && parts.bos) parts.post.prefix.push_back(*parts.bos);
  if (vocab.add_eos.value_or(false) && parts.eos) parts.post.suffix.push_back(*parts.eos);
  return parts;
}

// Equals the result of llama.cpp's converter: id 0 begins and ends texts, and two line breaks end a turn.
Result<TokenizerParts> build_rwkv_lines(std::string_view file, std::string_view config_json) {
  RZ_TRY(const std::vector<std::string> tokens, read_lines(file));
  std::vector<std::string> pieces = {read_divider(config_json)};
  std::optional<TokenId> eot;
  for (size_t id = 1; id < tokens.size(); ++id) {
    pieces.push_back(escape(tokens[id]));
    if (tokens[id] == kEndOfTurn) eot = TokenId{static_cast<int32_t>(id)};
  }
  std::vector<TokenType> types(pieces.size(), TokenType::kNormal);
  types[0] = TokenType::kControl;
  const std::vector<std::string_view> views(pieces.begin(), pieces.end());
  TokenizerParts parts;
  parts.vocab = std::make_unique<Vocabulary>(views, std::move(types));
  parts.decoded.add(pieces[0]);
  for (size_t id = 1; id < tokens.size(); ++id) parts.decoded.add(tokens[id]);
  parts.bos = parts.eos = TokenId{0};
  RZ_CHECK_OK(add_model(parts, std::nullopt, eot));
  return parts;
}

}  // namespace realizar::text
