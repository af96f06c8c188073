#include "text/tokenizer/tokenizer.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/printable.h"
#include "text/tokenizer/builders.h"
#include "text/tokenizer/tokenizer_parts.h"
#include "text/utf8.h"

namespace realizar::text {

struct Tokenizer::Impl {
  TokenizerParts parts;
  size_t longest_token_bytes = 4;  // a character outside the vocabulary
};

namespace {

// A prompt joined to one text, and the ranges in which special tokens may be recognized.
struct JoinedPrompt {
  std::string text;
  std::vector<TextRange> special_ranges;  // ordered, disjoint, none empty
};

// Joins adjacent pieces of the same kind first: a character may be split between two pieces.
JoinedPrompt join(std::span<const PromptPiece> pieces, bool keeps_invalid_utf8) {
  JoinedPrompt prompt;
  for (size_t i = 0; i < pieces.size();) {
    const bool is_input = pieces[i].is_input;
    std::string run;
    for (; i < pieces.size() && pieces[i].is_input == is_input; ++i) run += pieces[i].text;
    const size_t begin = prompt.text.size();
    prompt.text += keeps_invalid_utf8 ? run : replace_invalid_utf8(run);
    if (!is_input && prompt.text.size() > begin) prompt.special_ranges.push_back({begin, prompt.text.size()});
  }
  return prompt;
}

// The parts of `ranges` inside `segment`, relative to its beginning.
std::vector<TextRange> clip(std::span<const TextRange> ranges, TextRange segment) {
  std::vector<TextRange> clipped;
  for (const TextRange& range : ranges) {
    const size_t begin = std::max(range.begin, segment.begin);
    const size_t end = std::min(range.end, segment.end);
    if (begin < end) clipped.push_back({begin - segment.begin, end - segment.begin});
  }
  return clipped;
}

// One call of encode().
class Encoder {
 public:
  Encoder(const TokenizerParts& parts, std::vector<TokenId>& out) : parts_(parts), out_(out) {}

  void encode(std::string_view text, std::span<const TextRange> special_ranges) {
    std::vector<AddedTokenMatcher::Segment> segments;
    parts_.added.split(text, special_ranges, segments);
    for (const auto& segment : segments) {
      if (segment.id != kNoToken) {
        out_.push_back(segment.id);
        continue;
      }
      const bool at_start = segment.range.begin == 0;
      const std::string_view part = text.substr(segment.range.begin, segment.range.end - segment.range.begin);
      if (parts_.added_normalized.has_special()) {
        encode_mixed(part, clip(special_ranges, segment.range), at_start);
      } else {
        encode_ordinary(part, false, at_start);
      }
    }
  }

 private:
  // For special tokens that are searched in normalized text: the origin of characters is only known before the
  // normalizer. Therefore a segment of mixed origin is processed as a whole if no special token would be found, and
  // otherwise each run of one origin separately.
  void encode_mixed(std::string_view segment, std::span<const TextRange> special_ranges, bool at_start) {
    const bool all_special =
        special_ranges.size() == 1 && special_ranges[0].end - special_ranges[0].begin == segment.size();
    if (all_special || !any_special_in(segment, special_ranges)) {
      encode_ordinary(segment, all_special, at_start);
      return;
    }
    size_t done = 0;
    const auto encode_run = [&](size_t end, bool special) {
      if (done < end) encode_ordinary(segment.substr(done, end - done), special, at_start && done == 0);
      done = end;
    };
    for (const TextRange& range : special_ranges) {
      encode_run(range.begin, false);
      encode_run(range.end, true);
    }
    encode_run(segment.size(), false);
  }

  bool any_special_in(std::string_view segment, std::span<const TextRange> special_ranges) const {
    for (const TextRange& range : special_ranges) {
      const std::string run = normalized(segment.substr(range.begin, range.end - range.begin), range.begin == 0);
      const TextRange whole{0, run.size()};
      std::vector<AddedTokenMatcher::Segment> found;
      parts_.added_normalized.split(run, {&whole, 1}, found);
      for (const auto& s : found) {
        if (s.id != kNoToken && parts_.vocab->type(s.id) == TokenType::kControl) return true;
      }
    }
    return false;
  }

  std::string normalized(std::string_view segment, bool at_start) const {
    std::string text(segment);
    if (parts_.normalizer) parts_.normalizer(text, at_start);
    return text;
  }

  void encode_ordinary(std::string_view segment, bool special, bool at_start) {
    std::string text = normalized(segment, at_start);
    if (parts_.added_normalized.empty()) {
      encode_words(std::move(text), at_start);
      return;
    }
    const TextRange whole{0, special ? text.size() : 0};
    std::vector<AddedTokenMatcher::Segment> segments;
    parts_.added_normalized.split(text, {&whole, 1}, segments);
    for (const auto& [range, id] : segments) {
      if (id != kNoToken) {
        out_.push_back(id);
      } else {
        encode_words(text.substr(range.begin, range.end - range.begin), at_start && range.begin == 0);
      }
    }
  }

  void encode_words(std::string text, bool at_start) {
    if (text.empty()) return;
    pieces_.text = std::move(text);
    pieces_.at_start = at_start;
    pieces_.ranges.assign(1, TextRange{0, pieces_.text.size()});
    if (parts_.pre_tokenizer) parts_.pre_tokenizer(pieces_);
    const std::string_view all = pieces_.text;
    for (const TextRange& range : pieces_.ranges) {
      parts_.model->encode_word(all.substr(range.begin, range.end - range.begin), out_);
    }
  }

  const TokenizerParts& parts_;
  std::vector<TokenId>& out_;
  Pieces pieces_;  // kept for its capacity
};

std::vector<TokenId> encode_joined(const TokenizerParts& parts, std::string_view text,
                                   std::span<const TextRange> special_ranges, EncodeOptions options) {
  std::vector<TokenId> ids;
  if (options.add_special) ids = parts.post.prefix;
  Encoder(parts, ids).encode(text, options.parse_special ? special_ranges : std::span<const TextRange>());
  if (options.add_special) ids.insert(ids.end(), parts.post.suffix.begin(), parts.post.suffix.end());
  return ids;
}

bool is_skipped(TokenType type, DecodeOptions options) {
  return options.skip_special && (type == TokenType::kControl || type == TokenType::kUnknown);
}

}  // namespace

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<Tokenizer> Tokenizer::from_parts(Result<TokenizerParts> parts) {
  if (!parts) return parts.error();
  REQUIRE(parts->vocab && parts->model && parts->decoded.size() == static_cast<size_t>(parts->vocab->size()));
  auto impl = std::make_unique<Impl>();
  impl->parts = std::move(*parts);
  for (size_t id = 0; id < impl->parts.decoded.size(); ++id) {
    impl->longest_token_bytes = std::max(impl->longest_token_bytes, impl->parts.decoded[id].size());
  }
  return Tokenizer(std::move(impl));
}

Result<Tokenizer> Tokenizer::from_gguf(const GgufVocab& vocab) {
  if (vocab.model == "gpt2" || vocab.model == "gemma4") return from_parts(build_bpe_gguf(vocab));
  if (vocab.model == "llama") return from_parts(build_spm_gguf(vocab));
  if (vocab.model == "t5") return from_parts(build_unigram_gguf(vocab));
  if (vocab.model == "bert") return from_parts(build_wordpiece_gguf(vocab));
  if (vocab.model == "rwkv") return from_parts(build_rwkv_gguf(vocab));
  return unsupported(
      "tokenizer.ggml.model: '" + shown(vocab.model) + "' is not built; known: gpt2, llama, t5, bert, rwkv",
      "tokenizer.ggml.model");
}

Result<Tokenizer> Tokenizer::from_hf(std::string_view tokenizer_json, std::string_view config_json) {
  return from_parts(build_hf(tokenizer_json, config_json));
}

Result<Tokenizer> Tokenizer::from_sentencepiece(std::string_view model, std::string_view config_json) {
  return from_parts(build_spm_model(model, config_json));
}

Result<Tokenizer> Tokenizer::from_rwkv(std::string_view vocab, std::string_view config_json) {
  return from_parts(build_rwkv_lines(vocab, config_json));
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  const TokenizerParts& parts = impl_->parts;
  const std::string repaired = parts.keeps_invalid_utf8 ? std::string() : replace_invalid_utf8(text);
  const std::string_view valid = parts.keeps_invalid_utf8 ? text : std::string_view(repaired);
  const TextRange whole{0, valid.size()};
  return encode_joined(parts, valid, {&whole, 1}, options);
}

std::vector<TokenId> Tokenizer::encode(std::span<const PromptPiece> pieces, EncodeOptions options) const {
  const JoinedPrompt prompt = join(pieces, impl_->parts.keeps_invalid_utf8);
  return encode_joined(impl_->parts, prompt.text, prompt.special_ranges, options);
}

TokenPair Tokenizer::encode_pair(std::string_view first, std::string_view second) const {
  const PostProcessor& post = impl_->parts.post;
  TokenPair pair{post.prefix};
  const auto add = [&pair](const std::vector<TokenId>& ids) {
    pair.ids.insert(pair.ids.end(), ids.begin(), ids.end());
  };
  constexpr EncodeOptions kTextAlone{.add_special = false, .parse_special = false};
  add(encode(first, kTextAlone));
  add(post.between.value_or(post.suffix));
  pair.n_first = pair.ids.size();
  add(encode(second, kTextAlone));
  add(post.suffix);
  return pair;
}

std::string Tokenizer::decode(std::span<const TokenId> ids, DecodeOptions options) const {
  const TokenizerParts& parts = impl_->parts;
  std::string text;
  for (TokenId id : ids) {
    if (!parts.vocab->contains(id) || is_skipped(parts.vocab->type(id), options)) continue;
    text += parts.decoded[static_cast<size_t>(to_index(id))];
  }
  if (parts.strips_leading_space && text.starts_with(' ')) text.erase(0, 1);
  return text;
}

std::string Tokenizer::token_bytes(TokenId id, DecodeOptions options) const {
  const TokenizerParts& parts = impl_->parts;
  if (!parts.vocab->contains(id) || is_skipped(parts.vocab->type(id), options)) return {};
  return std::string(parts.decoded[static_cast<size_t>(to_index(id))]);
}

bool Tokenizer::strips_leading_space() const {
  return impl_->parts.strips_leading_space;
}
size_t Tokenizer::longest_token_bytes() const {
  return impl_->longest_token_bytes;
}
int32_t Tokenizer::n_vocab() const {
  return impl_->parts.vocab->size();
}

std::string_view Tokenizer::piece(TokenId id) const {
  const Vocabulary& vocab = *impl_->parts.vocab;
  return vocab.contains(id) ? vocab.piece(id) : std::string_view();
}

std::optional<TokenId> Tokenizer::find(std::string_view piece) const {
  return impl_->parts.vocab->find(piece);
}

TokenType Tokenizer::type(TokenId id) const {
  const Vocabulary& vocab = *impl_->parts.vocab;
  return vocab.contains(id) ? vocab.type(id) : TokenType::kUnused;
}

std::optional<TokenId> Tokenizer::bos() const {
  return impl_->parts.bos;
}
std::optional<TokenId> Tokenizer::eos() const {
  return impl_->parts.eos;
}
std::span<const TokenId> Tokenizer::end_tokens() const {
  return impl_->parts.end_tokens;
}

}  // namespace realizar::text
