// Decoders of tokenizer.json process the list of a text's pieces. Nearly all treat each piece separately, so they are
// applied once to every piece of the vocabulary; the exception, removing a space at the front of the text, is a flag.
#include <functional>
#include <utility>

#include "base/encodings.h"
#include "base/printable.h"
#include "base/try.h"
#include "text/tokenizer/byte_spelling.h"
#include "text/tokenizer/hf_json.h"
#include "text/tokenizer/hf_parts.h"
#include "text/tokenizer/normalizers.h"

namespace realizar::text {
namespace {

using DecodeStep = std::function<void(std::string&)>;

void replace_all(std::string& text, std::string_view wanted, std::string_view content) {
  if (wanted.empty()) return;
  for (size_t at = text.find(wanted); at != std::string::npos; at = text.find(wanted, at + content.size())) {
    text.replace(at, wanted.size(), content);
  }
}

void decode_byte_level(std::string& piece) {
  if (auto bytes = unspell_bytes(piece)) piece = std::move(*bytes);
}

// "<0xHH>" is that byte.
void decode_byte_token(std::string& piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>') return;
  const int high = hex_digit(piece[3]);
  const int low = hex_digit(piece[4]);
  if (high >= 0 && low >= 0) piece = std::string(1, static_cast<char>(high * 16 + low));
}

// Removes a character from the ends, up to the given numbers of times.
void strip(std::string& piece, std::string_view character, int64_t start, int64_t stop) {
  for (; start > 0 && piece.starts_with(character); --start) piece.erase(0, character.size());
  for (; stop > 0 && piece.ends_with(character); --stop) piece.resize(piece.size() - character.size());
}

// Removes the spaces that a WordPiece vocabulary puts before punctuation and inside contractions.
void clean_up(std::string& piece) {
  constexpr std::pair<std::string_view, std::string_view> kRules[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},    {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
  };
  for (const auto& [wanted, content] : kRules) replace_all(piece, wanted, content);
}

class DecoderReader {
 public:
  Status read(const element& section, int depth) {
    const std::string type = json_string(section, "type");
    if (type == "Sequence") return read_sequence(section, depth);
    if (type == "ByteLevel") return add(decode_byte_level, Applies::kToPlainTokens);
    if (type == "ByteFallback") return add(decode_byte_token);
    if (type == "Replace") return read_replace(section);
    if (type == "Metaspace") return read_metaspace(section);
    if (type == "WordPiece") return read_wordpiece(section);
    if (type == "BPEDecoder") return read_bpe(section);
    if (type == "Strip") return read_strip(section);
    if (type == "Fuse") {
      fused_ = true;
      return {};
    }
    return unsupported("decoder: type '" + shown(type) + "' is not built", "decoder");
  }

  HfDecoder run(const Vocabulary& vocab) const {
    HfDecoder decoder;
    decoder.strips_leading_space = strips_leading_space_;
    decoder.decoded.reserve(static_cast<size_t>(vocab.size()), static_cast<size_t>(vocab.size()) * 8);
    std::string piece;
    for (int32_t i = 0; i < vocab.size(); ++i) {
      piece = vocab.piece(TokenId{i});
      const TokenType token_type = vocab.type(TokenId{i});
      const bool is_plain = token_type == TokenType::kNormal || token_type == TokenType::kByte;
      for (const auto& [step, applies] : steps_) {
        if (is_plain || applies == Applies::kToAll) step(piece);
      }
      decoder.decoded.add(piece);
    }
    return decoder;
  }

 private:
  // Added tokens represent themselves, not in an alphabet.
  enum class Applies { kToAll, kToPlainTokens };

  Status add(DecodeStep step, Applies applies = Applies::kToAll) {
    if (fused_) return unsupported("decoder: a step after Fuse other than Strip is not built", "decoder");
    steps_.emplace_back(std::move(step), applies);
    return {};
  }

  Status read_sequence(const element& section, int depth) {
    if (depth > kMaxSectionDepth) return format_error("decoder: nested too deep", "decoder");
    RZ_TRY(const simdjson::dom::array steps, json_array(section, "decoders", "decoder"));
    for (const element step : steps) RZ_CHECK_OK(read(step, depth + 1));
    return {};
  }

  Status read_replace(const element& section) {
    RZ_TRY(JsonPattern pattern, json_pattern(section, "decoder"));
    const std::string content = json_string(section, "content");
    if (!pattern.is_regex) {
      return add([wanted = pattern.text, content](std::string& piece) { replace_all(piece, wanted, content); });
    }
    RZ_TRY(Regex regex, Regex::compile(pattern.text));
    const Normalizer replace = make_replace(std::move(regex), content);
    return add([replace](std::string& piece) { replace(piece, false); });
  }

  Status read_metaspace(const element& section) {
    const bool adds = json_bool(section, "add_prefix_space", true);
    strips_leading_space_ = json_string(section, "prepend_scheme", adds ? "always" : "never") != "never";
    const std::string replacement = json_string(section, "replacement", "\u2581");
    return add([replacement](std::string& piece) { replace_all(piece, replacement, " "); });
  }

  Status read_wordpiece(const element& section) {
    strips_leading_space_ = true;
    const bool cleans = json_bool(section, "cleanup", true);
    return add([prefix = json_string(section, "prefix", "##"), cleans](std::string& piece) {
      if (!prefix.empty() && piece.starts_with(prefix)) {
        piece.erase(0, prefix.size());
      } else {
        piece.insert(0, 1, ' ');
      }
      if (cleans) clean_up(piece);
    });
  }

  // The suffix is a space. Hugging Face drops it from a text's last piece, which a streaming decoder cannot know.
  Status read_bpe(const element& section) {
    return add(
        [suffix = json_string(section, "suffix", "</w>")](std::string& piece) { replace_all(piece, suffix, " "); });
  }

  Status read_strip(const element& section) {
    const std::string content = json_string(section, "content", " ");
    const int64_t start = json_int(section, "start", 0);
    const int64_t stop = json_int(section, "stop", 0);
    if (!fused_ && start >= 0 && stop >= 0 && !content.empty()) {
      return add([content, start, stop](std::string& piece) { strip(piece, content, start, stop); });
    }
    const bool built = fused_ && content == " " && (start == 0 || start == 1) && stop == 0;
    if (!built)
      return unsupported("decoder: Strip after Fuse other than of one space at the front is not built", "decoder");
    strips_leading_space_ = strips_leading_space_ || start == 1;
    return {};
  }

  std::vector<std::pair<DecodeStep, Applies>> steps_;
  bool fused_ = false;
  bool strips_leading_space_ = false;
};

}  // namespace

Result<HfDecoder> read_decoder(const JsonElement& section, const Vocabulary& vocab) {
  DecoderReader reader;
  if (!section.is_null()) RZ_CHECK_OK(reader.read(section, 0));
  return reader.run(vocab);
}

}  // namespace realizar::text
