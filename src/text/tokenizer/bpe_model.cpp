#include "text/tokenizer/bpe_model.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <memory>
#include <utility>

#include "base/printable.h"
#include "base/try.h"
#include "base/utf8.h"
#include "text/tokenizer/byte_spelling.h"
#include "text/tokenizer/merge_loop.h"
#include "text/tokenizer/pair_map.h"
#include "text/tokenizer/plain_types.h"
#include "text/utf8.h"

namespace realizar::text {
namespace {

struct Nothing {};

// A word's symbols before merging: bytes or characters.
struct Unit {
  uint32_t code = 0;
  uint32_t n_bytes = 1;
};

Unit unit_at(std::string_view s, size_t at, bool byte_level) {
  if (byte_level) return {static_cast<uint8_t>(s[at]), 1};
  const DecodedChar c = decode_char(s, at);
  return {c.code, c.n_bytes};
}

Unit last_unit(std::string_view s, bool byte_level) {
  size_t begin = s.size() - 1;
  while (!byte_level && begin > 0 && continues_character(s[begin])) --begin;
  return unit_at(s, begin, byte_level);
}

// The text of a token; "" if no word can become it.
std::string word_of(const Vocabulary& vocab, TokenId id, bool byte_level) {
  const TokenType type = vocab.type(id);
  const std::string_view piece = vocab.piece(id);
  const bool is_text = type == TokenType::kNormal || type == TokenType::kUserDefined;
  if (!byte_level) return is_text || is_unit(piece, Units::kCharacters) ? std::string(piece) : std::string();
  auto bytes = unspell_bytes(piece);
  if (!bytes) return {};
  // A user-defined word is not a spelling of bytes.
  const bool is_reachable = type == TokenType::kUserDefined ? *bytes == piece : is_text || type == TokenType::kByte;
  return is_reachable || bytes->size() == 1 ? std::move(*bytes) : std::string();
}

StringTable make_words(const Vocabulary& vocab, bool byte_level) {
  StringTable words;
  for (int32_t i = 0; i < vocab.size(); ++i) words.add(word_of(vocab, TokenId{i}, byte_level));
  return words;
}

class BpeModel final : public MergeModel {
 public:
  BpeModel(const Vocabulary& vocab, BpeOptions options, size_t n_merges)
      : vocab_(vocab),
        options_(std::move(options)),
        decorated_(!options_.continuing_subword_prefix.empty() || !options_.end_of_word_suffix.empty()),
        words_(make_words(vocab, options_.byte_level)),
        word_index_(words_),
        merges_(n_merges),
        junctions_(options_.byte_level ? std::min<size_t>(n_merges, 256 * 256) : n_merges),
        whole_(std::make_unique<std::atomic<Whole>[]>(words_.size())) {
    for (int32_t i = 0; i < vocab.size(); ++i) word_index_.insert(i);
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const std::string raw(1, static_cast<char>(byte));
      const auto spelled = vocab.find(spell_byte_token(static_cast<uint8_t>(byte)));
      byte_ids_[byte] = options_.byte_level ? word_index_.find(raw) : to_index(spelled.value_or(kNoToken));
    }
  }

  Status add_merge(MergeRule rule, uint32_t rank) {
    const auto [left, right] = rule;
    const std::string_view tail = right.substr(std::min(right.size(), options_.continuing_subword_prefix.size()));
    std::string joined(left);
    joined += tail;
    const auto left_id = vocab_.find(left), right_id = vocab_.find(right), joined_id = vocab_.find(joined);
    if (!left_id || !right_id || !joined_id) {
      const std::string missing(!left_id ? left : !right_id ? right : std::string_view(joined));
      return format_error("merge " + std::to_string(rank) + " ('" + shown(left) + "' '" + shown(right) + "'): '" +
                              shown(missing) + "' is not in the vocabulary",
                          "merges");
    }
    const TokenType joined_type = vocab_.type(*joined_id);
    if (joined_type == TokenType::kControl || joined_type == TokenType::kUnknown) return {};
    const auto symbol = [](TokenId id) { return static_cast<uint32_t>(to_index(id)); };
    merges_.set(symbol(*left_id), symbol(*right_id), Merge{rank, to_index(*joined_id)});
    const std::string left_word = part_text(*left_id), right_word = part_text(*right_id);
    if (!left_word.empty() && !right_word.empty()) {
      const bool byte_level = options_.byte_level;
      junctions_.set(last_unit(left_word, byte_level).code, unit_at(right_word, 0, byte_level).code, {});
    }
    return {};
  }

  void encode_word(std::string_view word, std::vector<TokenId>& out) const override {
    if (options_.ignore_merges && !decorated_) {
      if (const int32_t id = word_index_.find(word); id >= 0) {
        out.push_back(TokenId{id});
        return;
      }
    }
    if (decorated_) {
      merge_part(word, out);
    } else if (word.size() <= kShortWord) {
      encode_part(word, out);
    } else {
      encode_parts(word, out);
    }
  }

 private:
  // Whether a word in the vocabulary equals the result of its merges: determined on first use.
  enum class Whole : uint8_t { kUnknown, kYes, kNo };

  bool may_join(uint32_t left, uint32_t right) const { return junctions_.find(left, right) != nullptr; }

  // Units that no merge joins stay apart, so a long word is split there: exact, and much faster if a vocabulary has no
  // pre-tokenizer and the word is a whole text.
  void encode_parts(std::string_view word, std::vector<TokenId>& out) const {
    size_t begin = 0;
    const auto finish = [&](size_t end) {
      const size_t n_before = out.size();
      encode_part(word.substr(begin, end - begin), out);
      const bool unknown_twice = options_.fuse_unk && options_.unk_id && begin > 0 && out.size() > n_before &&
                                 out[n_before] == *options_.unk_id && out[n_before - 1] == *options_.unk_id;
      if (unknown_twice) out.erase(out.begin() + static_cast<std::ptrdiff_t>(n_before));
      begin = end;
    };
    Unit previous = unit_at(word, 0, options_.byte_level);
    for (size_t at = previous.n_bytes; at < word.size();) {
      const Unit unit = unit_at(word, at, options_.byte_level);
      if (!may_join(previous.code, unit.code)) finish(at);
      previous = unit;
      at += unit.n_bytes;
    }
    finish(word.size());
  }

  void encode_part(std::string_view part, std::vector<TokenId>& out) const {
    const int32_t id = word_index_.find(part);
    if (id < 0) return merge_part(part, out);
    std::atomic<Whole>& whole = whole_[static_cast<size_t>(id)];
    if (whole.load(std::memory_order_relaxed) == Whole::kYes) {
      out.push_back(TokenId{id});
      return;
    }
    const size_t n_before = out.size();
    merge_part(part, out);
    const bool is_whole = out.size() == n_before + 1 && out.back() == TokenId{id};
    whole.store(is_whole ? Whole::kYes : Whole::kNo, std::memory_order_relaxed);
  }

  void merge_part(std::string_view part, std::vector<TokenId>& out) const {
    int32_t few[kShortWord];
    std::vector<int32_t> many;
    int32_t* symbols = few;
    if (part.size() > kShortWord) {
      many.resize(part.size());
      symbols = many.data();
    }
    const size_t n_symbols = split_symbols(part, symbols);
    const auto lookup = [this](int32_t left, int32_t right) {
      const Merge* merge = merges_.find(static_cast<uint32_t>(left), static_cast<uint32_t>(right));
      return merge == nullptr ? Merge{} : *merge;
    };
    const size_t n_merged = merge_symbols(std::span(symbols, n_symbols), lookup);
    for (size_t i = 0; i < n_merged; ++i) out.push_back(TokenId{symbols[i]});
  }

  // `symbols` has room for one per byte of `part`. A character that is neither in the vocabulary nor replaced by bytes
  // or by the unknown token is dropped, as in Hugging Face's tokenizers. Bytes replace a character if all of its own
  // are tokens, even if others are missing.
  size_t split_symbols(std::string_view part, int32_t* symbols) const {
    size_t n = 0;
    bool unknown_before = false;
    for (size_t at = 0; at < part.size();) {
      const Unit unit = unit_at(part, at, options_.byte_level);
      const std::string_view text = part.substr(at, unit.n_bytes);
      const int32_t id =
          options_.byte_level ? byte_ids_[unit.code] : find_char(text, at == 0, at + unit.n_bytes == part.size());
      at += unit.n_bytes;
      const bool has_bytes = id < 0 && options_.byte_fallback && has_bytes_of(text);
      if (id >= 0) {
        symbols[n++] = id;
      } else if (has_bytes) {
        for (char c : text) symbols[n++] = byte_ids_[static_cast<uint8_t>(c)];
      } else if (options_.unk_id && !(unknown_before && options_.fuse_unk)) {
        symbols[n++] = to_index(*options_.unk_id);
      }
      unknown_before = id < 0 && !has_bytes;
    }
    return n;
  }

  bool has_bytes_of(std::string_view character) const {
    return std::ranges::all_of(character, [this](char c) { return byte_ids_[static_cast<uint8_t>(c)] >= 0; });
  }

  // The text of a merge's part, which need not be a word.
  std::string part_text(TokenId id) const {
    const std::string_view word = words_[static_cast<size_t>(to_index(id))];
    if (!word.empty()) return std::string(word);
    return options_.byte_level ? unspell_bytes(vocab_.piece(id)).value_or("") : std::string(vocab_.piece(id));
  }

  int32_t find_char(std::string_view character, bool first, bool last) const {
    if (!decorated_) return word_index_.find(character);
    std::string symbol = first ? std::string() : options_.continuing_subword_prefix;
    symbol += character;
    if (last) symbol += options_.end_of_word_suffix;
    return word_index_.find(symbol);
  }

  const Vocabulary& vocab_;
  const BpeOptions options_;
  const bool decorated_;               // symbols carry a prefix or a suffix: words can neither be looked up nor split
  const StringTable words_;            // [n_vocab] the text of each token; "" if no word can become it
  StringIndex word_index_;             // of words_
  PairMap<Merge> merges_;              // by symbols
  PairMap<Nothing> junctions_;         // last unit of the left part and first unit of the right part of any merge
  std::array<int32_t, 256> byte_ids_;  // tokens of single bytes; -1 if there is none
  std::unique_ptr<std::atomic<Whole>[]> whole_;  // [n_vocab]
};

}  // namespace

std::string spell_byte_token(uint8_t byte) {
  constexpr char kHex[] = "0123456789ABCDEF";
  return {'<', '0', 'x', kHex[byte >> 4], kHex[byte & 15], '>'};
}

std::optional<uint8_t> byte_of_token(std::string_view piece) {
  constexpr size_t kBytes = 6;
  uint8_t byte = 0;
  if (piece.size() != kBytes || !piece.starts_with("<0x") || piece.back() != '>') return std::nullopt;
  const auto parsed = std::from_chars(piece.data() + 3, piece.data() + 5, byte, 16);
  const bool is_byte = parsed.ec == std::errc() && parsed.ptr == piece.data() + 5 && spell_byte_token(byte) == piece;
  return is_byte ? std::optional(byte) : std::nullopt;
}

Result<std::unique_ptr<MergeModel>> make_bpe_model(const Vocabulary& vocab, const std::vector<MergeRule>& merges,
                                                   BpeOptions options) {
  auto model = std::make_unique<BpeModel>(vocab, std::move(options), merges.size());
  uint32_t rank = 0;
  for (const MergeRule& rule : merges) RZ_CHECK_OK(model->add_merge(rule, rank++));
  return std::unique_ptr<MergeModel>(std::move(model));
}

Result<std::unique_ptr<MergeModel>> make_ranked_bpe_model(const Vocabulary& vocab,
                                                          const std::vector<RankedRule>& merges, BpeOptions options) {
  auto model = std::make_unique<BpeModel>(vocab, std::move(options), merges.size());
  for (const RankedRule& rule : merges) RZ_CHECK_OK(model->add_merge(rule.parts, rule.rank));
  return std::unique_ptr<MergeModel>(std::move(model));
}

}  // namespace realizar::text
