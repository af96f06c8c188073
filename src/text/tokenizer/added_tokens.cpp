#include "text/tokenizer/added_tokens.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace realizar::text {
namespace {

// The beginning of the character that ends just before `end`.
size_t previous_char(std::string_view text, size_t end) {
  size_t begin = end - 1;
  while (begin > 0 && end - begin < 4 && continues_character(text[begin])) --begin;
  return begin;
}

bool word_before(std::string_view text, size_t at) {
  return at > 0 && is_word_char(decode_char(text, previous_char(text, at)).code);
}

bool word_after(std::string_view text, size_t at) {
  return at < text.size() && is_word_char(decode_char(text, at).code);
}

size_t skip_space_before(std::string_view text, size_t at, size_t limit) {
  while (at > limit) {
    const size_t begin = previous_char(text, at);
    if (begin < limit || !is_white_space(decode_char(text, begin).code)) break;
    at = begin;
  }
  return at;
}

size_t skip_space_after(std::string_view text, size_t at) {
  while (at < text.size()) {
    const DecodedChar c = decode_char(text, at);
    if (!is_white_space(c.code)) break;
    at += c.n_bytes;
  }
  return at;
}

}  // namespace

AddedTokenMatcher::AddedTokenMatcher(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::erase_if(tokens_, [](const AddedToken& t) { return t.content.empty(); });
  std::vector<ByteTrie::Entry> entries;
  for (const AddedToken& token : tokens_) {
    entries.push_back({token.content, static_cast<int32_t>(entries.size())});
    starts_[static_cast<uint8_t>(token.content[0])] = true;
    has_special_ = has_special_ || token.special;
  }
  trie_ = ByteTrie(std::move(entries));
}

AddedTokenMatcher::Match AddedTokenMatcher::longest_at(std::string_view text, size_t begin, size_t special_end) const {
  Match best;
  int32_t node = ByteTrie::kRoot;
  for (size_t at = begin; at < text.size(); ++at) {
    node = trie_.step(node, static_cast<uint8_t>(text[at]));
    if (node == ByteTrie::kNone) break;
    const int32_t index = trie_.value(node);
    if (index == ByteTrie::kNone) continue;
    const AddedToken& token = tokens_[static_cast<size_t>(index)];
    if (!token.special || at + 1 <= special_end) best = {&token, at + 1};
  }
  return best;
}

void AddedTokenMatcher::split(std::string_view text, std::span<const TextRange> special_ranges,
                              std::vector<Segment>& out) const {
  size_t done = 0;  // everything before it is in `out`
  size_t i_range = 0;
  for (size_t at = 0; !empty() && at < text.size();) {
    if (!starts_[static_cast<uint8_t>(text[at])]) {
      ++at;
      continue;
    }
    while (i_range < special_ranges.size() && special_ranges[i_range].end <= at) ++i_range;
    const bool inside = i_range < special_ranges.size() && special_ranges[i_range].begin <= at;
    const Match match = longest_at(text, at, inside ? special_ranges[i_range].end : 0);
    if (match.token == nullptr) {
      ++at;
      continue;
    }
    size_t begin = at;
    at = match.end;
    if (match.token->single_word && (word_before(text, begin) || word_after(text, match.end))) continue;
    if (match.token->lstrip) begin = skip_space_before(text, begin, done);
    if (match.token->rstrip) at = skip_space_after(text, at);
    if (done < begin) out.push_back({{done, begin}, kNoToken});
    out.push_back({{begin, at}, match.token->id});
    done = at;
  }
  if (done < text.size()) out.push_back({{done, text.size()}, kNoToken});
}

}  // namespace realizar::text
