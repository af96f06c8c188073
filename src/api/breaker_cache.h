// DRY's sequence breakers as a model's tokens: made once for a list of texts, and kept for the next request with it.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "realizar/request.h"
#include "realizar/result.h"
#include "text/tokenizer/tokenizer.h"

namespace realizar {

// Any thread.
class BreakerCache {
 public:
  static constexpr size_t kMaxBreakers = 64, kMaxBreakerBytes = 40;

  // `tokenizer` must outlive this.
  explicit BreakerCache(const text::Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  // Errors: InvalidArgument for more than kMaxBreakers texts, and for one that is empty or longer than
  // kMaxBreakerBytes.
  Result<std::shared_ptr<const SequenceBreakers>> of(std::span<const std::string> texts);
  // Those of llama.cpp for requests that name none: line break, ':', '"' and '*'.
  std::shared_ptr<const SequenceBreakers> usual();

 private:
  using Shared = std::shared_ptr<const SequenceBreakers>;
  Shared find_or_make(std::span<const std::string> texts);
  SequenceBreakers make(std::span<const std::string> texts);

  static constexpr size_t kMaxKept = 16;

  const text::Tokenizer& tokenizer_;
  std::mutex mutex_;
  std::vector<std::string> token_bytes_;                         // of each id; made when they are first wanted
  std::list<std::pair<std::vector<std::string>, Shared>> kept_;  // most recently used first
};

}  // namespace realizar
