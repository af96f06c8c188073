#include "realizar/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "sampling/sampler.h"

namespace realizar {

struct TokenSampler::Impl {
  Impl(uint32_t n, const SamplingParams& chain_params) : n_vocab(n), params(chain_params), sampler(n) {}

  Status check(std::span<const float> logits, std::span<const TokenId> history,
               std::span<const uint64_t> allowed) const {
    if (logits.size() != n_vocab) {
      return invalid_argument(fmt::format("logits: expected {}, actual {}", n_vocab, logits.size()), "logits");
    }
    const size_t n_words = (size_t{n_vocab} + 63) / 64;
    if (!allowed.empty() && allowed.size() != n_words) {
      return invalid_argument(fmt::format("allowed: expected {} words, actual {}", n_words, allowed.size()), "allowed");
    }
    const auto is_outside = [this](TokenId id) {
      return to_index(id) < 0 || static_cast<uint32_t>(to_index(id)) >= n_vocab;
    };
    const auto outside = std::ranges::find_if(history, is_outside);
    if (outside == history.end()) return {};
    return invalid_argument(fmt::format("history: expected token ids below {}, actual {}", n_vocab, to_index(*outside)),
                            "history");
  }

  const uint32_t n_vocab;
  const SamplingParams params;
  Sampler sampler;
  SamplerState state;
};

Result<TokenSampler> TokenSampler::create(uint32_t n_vocab, const SamplingParams& params) {
  constexpr uint32_t kMaxVocab = 1u << 24;
  if (n_vocab < 1 || n_vocab > kMaxVocab) {
    return invalid_argument(fmt::format("n_vocab: expected 1 to {}, actual {}", kMaxVocab, n_vocab), "n_vocab");
  }
  RZ_CHECK_OK(validate(params, n_vocab));
  return TokenSampler(std::make_unique<Impl>(n_vocab, params));
}

TokenSampler::TokenSampler(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TokenSampler::TokenSampler(TokenSampler&&) noexcept = default;
TokenSampler& TokenSampler::operator=(TokenSampler&&) noexcept = default;
TokenSampler::~TokenSampler() = default;

Result<TokenId> TokenSampler::sample(std::span<const float> logits, std::span<const TokenId> history,
                                     std::span<const uint64_t> allowed) {
  RZ_CHECK_OK(impl_->check(logits, history, allowed));
  const TokenId id = impl_->sampler.sample(impl_->params, logits, history, allowed, &impl_->state);
  if (id != kNoToken) return id;
  return Error{ErrorCode::kInternal,
               "no token can be drawn: a logit is NaN or +infinity, or each one that is allowed is -infinity",
               "logits"};
}

void TokenSampler::reset() {
  impl_->state = {};
}

}  // namespace realizar
