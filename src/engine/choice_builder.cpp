#include "engine/choice_builder.h"

#include <algorithm>

#include "sampling/chain.h"
#include "sampling/parameters.h"
#include "sampling/penalties.h"
#include "sampling/philox.h"

namespace realizar::engine {
namespace {

// Capacity for seen tokens, over all rows of a step; the engine chooses for rows that exceed it.
constexpr size_t kSeenEachRow = 256;

// Only the token is wanted, and only samplers that TokenChoice supports decide it.
bool wants_token_alone(const Sequence& sequence) {
  const Request& request = *sequence.request;
  bool is_in_choice = is_usual_chain(request.sampling);
  for_each_filter(request.sampling,
                  [&](float, const CandidateFilter& filter) { is_in_choice = is_in_choice && filter.is_in_choice; });
  return is_in_choice && !sequence.wants_logits && !request.constraint && !request.logprobs &&
         !request.logprobs_after_chain && request.n_logprobs == 0 && !request.prompt_logprobs &&
         request.pooling == Pooling::kNone && request.sampling.logit_bias.empty();
}

}  // namespace

ChoiceBuilder::ChoiceBuilder(const Backend& backend, uint32_t max_logit_rows, uint32_t n_vocab)
    : backend_(backend), counts_(n_vocab) {
  choices_.reserve(max_logit_rows);
  seen_.reserve(max_logit_rows * kSeenEachRow);
}

std::span<const TokenChoice> ChoiceBuilder::build(std::span<const SequencePtr> sequences,
                                                  std::span<const PlannedChunk> plan) {
  choices_.clear();
  seen_.clear();
  if (choices_.capacity() == 0) return {};
  for (const PlannedChunk& chunk : plan) append(*sequences[chunk.seq_idx], chunk);
  const bool any =
      std::any_of(choices_.begin(), choices_.end(), [](const TokenChoice& choice) { return choice.is_wanted; });
  return any ? std::span<const TokenChoice>(choices_) : std::span<const TokenChoice>();
}

void ChoiceBuilder::append(const Sequence& sequence, const PlannedChunk& chunk) {
  const uint32_t end = sequence.n_computed() + chunk.n_tokens;
  for (uint32_t pos = end - chunk.n_logit_rows; pos < end; ++pos) choices_.push_back(choice_after(sequence, pos + 1));
}

// The choice of the token after the first n_history. The last of these may be speculative tokens that are wrong; then
// the row does not count.
TokenChoice ChoiceBuilder::choice_after(const Sequence& sequence, uint32_t n_history) {
  const SamplingParams& params = sequence.request->sampling;
  if (!wants_token_alone(sequence)) return {};
  TokenChoice choice = choice_of(params, uniform(params.seed, n_history));
  if (has_penalties(params)) {
    if (n_history > sequence.n_known()) return {};
    const size_t first = seen_.size(), n_window = static_cast<size_t>(static_cast<uint32_t>(params.repeat_last_n));
    if (first + std::min<size_t>(n_history, n_window) > seen_.capacity()) return {};
    for_each_seen(params, std::span(sequence.tokens).first(n_history), counts_, [this](TokenId id, uint32_t n_seen) {
      seen_.push_back({id, n_seen});
    });
    choice.seen = std::span(seen_).subspan(first);
  }
  return backend_.can_choose(choice) ? choice : TokenChoice{};
}

}  // namespace realizar::engine
