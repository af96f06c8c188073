#include "api/breaker_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "sampling/dry.h"

namespace realizar {
namespace {

Error wrong_breakers(const std::string& expected) {
  return invalid_argument("dry_sequence_breakers: expected " + expected, "dry_sequence_breakers");
}

// Collects the tokens that contain or begin a breaker.
class BreakerMaker {
 public:
  BreakerMaker(const text::Tokenizer& tokenizer, std::span<const std::string> texts)
      : tokenizer_(tokenizer), n_vocab_(static_cast<size_t>(tokenizer.n_vocab())), by_first_byte_(256) {
    for (const std::string& text : texts) by_first_byte_[static_cast<uint8_t>(text[0])].push_back(text);
  }

  // Scans each byte of each token once, with the breakers that begin with it.
  SequenceBreakers make(std::span<const std::string> token_bytes) {
    for (size_t id = 0; id < n_vocab_; ++id) {
      const std::string_view token = token_bytes[id];
      for (size_t at = 0; at < token.size(); ++at) {
        for (const std::string_view breaker : by_first_byte_[static_cast<uint8_t>(token[at])]) {
          add(id, token.substr(at), breaker);
        }
      }
    }
    return std::move(breakers_);
  }

 private:
  // `tail`: the end of the token.
  void add(size_t id, std::string_view tail, std::string_view breaker) {
    if (tail.starts_with(breaker)) {
      breakers_.whole[id] = true;
    } else if (breaker.starts_with(tail)) {
      const std::vector<TokenId>& rest = tokens_of(breaker.substr(tail.size()));
      if (rest.empty()) return;
      breakers_.begins[id] = true;
      breakers_.rests.emplace(TokenId{static_cast<int32_t>(id)}, rest);
    }
  }

  const std::vector<TokenId>& tokens_of(std::string_view rest) {
    const auto [known, is_new] = tokens_.try_emplace(rest);
    if (is_new) known->second = tokenizer_.encode(rest, {.add_special = false, .parse_special = false});
    return known->second;
  }

  const text::Tokenizer& tokenizer_;
  const size_t n_vocab_;
  std::vector<std::vector<std::string_view>> by_first_byte_;
  std::map<std::string_view, std::vector<TokenId>> tokens_;  // of rests
  SequenceBreakers breakers_{std::vector<bool>(n_vocab_), std::vector<bool>(n_vocab_), {}};
};

}  // namespace

Result<std::shared_ptr<const SequenceBreakers>> BreakerCache::of(std::span<const std::string> texts) {
  if (texts.size() > kMaxBreakers) return wrong_breakers(fmt::format("at most {} texts", kMaxBreakers));
  for (const std::string& text : texts) {
    if (text.empty() || text.size() > kMaxBreakerBytes) {
      return wrong_breakers(fmt::format("texts of 1 to {} bytes, actual {}", kMaxBreakerBytes, text.size()));
    }
  }
  return find_or_make(texts);
}

std::shared_ptr<const SequenceBreakers> BreakerCache::usual() {
  static const std::vector<std::string> kUsual = {"\n", ":", "\"", "*"};
  return find_or_make(kUsual);
}

BreakerCache::Shared BreakerCache::find_or_make(std::span<const std::string> texts) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::ranges::find_if(kept_, [&](const auto& kept) { return std::ranges::equal(kept.first, texts); });
  if (found != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, found);
    return kept_.front().second;
  }
  kept_.emplace_front(std::vector(texts.begin(), texts.end()), std::make_shared<const SequenceBreakers>(make(texts)));
  if (kept_.size() > kMaxKept) kept_.pop_back();
  return kept_.front().second;
}

// Requires the lock.
SequenceBreakers BreakerCache::make(std::span<const std::string> texts) {
  for (int32_t id = static_cast<int32_t>(token_bytes_.size()); id < tokenizer_.n_vocab(); ++id) {
    token_bytes_.push_back(tokenizer_.token_bytes(TokenId{id}, {.skip_special = false}));
  }
  return BreakerMaker(tokenizer_, texts).make(token_bytes_);
}

}  // namespace realizar
