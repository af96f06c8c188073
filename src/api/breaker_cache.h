// DRY's sequence breakers as a model's tokens: made once for a list of texts, and cached for later requests with it.
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

  // Errors: InvalidArgument for more than kMaxBreakers texts, and for an empty one or one longer than kMaxBreakerBytes.
  Result<std::shared_ptr<const SequenceBreakers>> of(std::span<const std::string> texts);
  // llama.cpp's breakers for requests that name none: line break, ':', '"' and '*'.
  std::shared_ptr<const SequenceBreakers> usual();

 private:
  using Shared = std::shared_ptr<const SequenceBreakers>;
  Shared find_or_make(std::span<const std::string> texts);
  SequenceBreakers make(std::span<const std::string> texts);

  static constexpr size_t kMaxKept = 16;

  const text::Tokenizer& tokenizer_;
  std::mutex mutex_;
  std::vector<std::string> token_bytes_;                         // indexed by id; made on first use
  std::list<std::pair<std::vector<std::string>, Shared>> kept_;  // most recently used first
};

}  // namespace realizar
