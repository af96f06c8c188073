#include "server/call/token_log.h"

#include "text/tokenizer/tokenizer.h"

namespace realizar::server {

TokenText token_text(const text::Tokenizer& tokenizer) {
  return [&tokenizer](TokenId id) { return tokenizer.token_bytes(id, {.skip_special = false}); };
}

void TokenLog::add(TokenId id, float logprob, std::span<const TokenLogprob> top) {
  tops_.insert(tops_.end(), top.begin(), top.end());
  entries_.push_back({id, logprob, tops_.size()});
}

void TokenLog::append(const TokenLog& more) {
  for (size_t i = 0; i < more.size(); ++i) {
    const Token token = more[i];
    add(token.id, token.logprob, token.top);
  }
}

TokenLog::Token TokenLog::operator[](size_t i) const {
  const size_t begin = i == 0 ? 0 : entries_[i - 1].tops_end;
  const Entry& entry = entries_[i];
  return {entry.id, entry.logprob, std::span(tops_).subspan(begin, entry.tops_end - begin)};
}

}  // namespace realizar::server
