#include "api/parity_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/try.h"

namespace realizar {
namespace {

constexpr uint32_t kTokens = 48;
// Shares of the range that a position's logits have. kMaxError is a few times the error that 8-bit activations cause;
// tokens whose logits are within kTie of each other may change places.
constexpr double kMaxError = 0.05, kTie = 0.02;
// The share of positions at which both backends choose the same token.
constexpr double kMinAgreeing = 0.95;

constexpr const char* kText =
    "The first machines that computed filled whole rooms, and the people who tended them were called operators. A "
    "program was a deck of cards; a mistake cost a day. What is remarkable is how little of that has changed.";

std::vector<TokenId> test_tokens(const LoadedModel& loaded) {
  std::vector<TokenId> tokens;
  if (loaded.tokenizer) tokens = loaded.tokenizer->encode(kText);
  // A model without a tokenizer, or one of few tokens for the text.
  const uint32_t n_tokens = std::min(kTokens, loaded.info.n_ctx);
  while (tokens.size() < n_tokens) {
    tokens.push_back(TokenId{static_cast<int32_t>((tokens.size() * 7919 + 17) % loaded.info.n_vocab)});
  }
  tokens.resize(n_tokens);
  return tokens;
}

}  // namespace

namespace {

size_t likeliest(std::span<const float> logits) {
  return static_cast<size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

bool is_finite(std::span<const float> logits) {
  return std::all_of(logits.begin(), logits.end(), [](float x) { return std::isfinite(x); });
}

// One position's.
void compare_row(std::span<const float> actual, std::span<const float> expected, ParityDifference& difference) {
  ++difference.n_positions;
  if (!is_finite(actual) || !is_finite(expected)) {
    difference.error = INFINITY;
    return;
  }
  const auto [least, largest] = std::minmax_element(expected.begin(), expected.end());
  const double range = std::max(1e-30, double{*largest} - *least);
  for (size_t i = 0; i < expected.size(); ++i) {
    difference.error = std::max(difference.error, std::abs(double{actual[i]} - expected[i]) / range);
  }
  const size_t chosen = likeliest(actual);
  difference.n_same += chosen == likeliest(expected) ? 1 : 0;
  difference.n_agreeing += *largest - double{expected[chosen]} <= kTie * range ? 1 : 0;
}

}  // namespace

bool ParityDifference::is_rounding() const {
  return error <= kMaxError && n_agreeing >= kMinAgreeing * n_positions;
}

ParityDifference compare_logits(std::span<const float> actual, std::span<const float> expected, size_t n_vocab) {
  ParityDifference difference;
  REQUIRE(actual.size() == expected.size());
  for (size_t first = 0; first < expected.size(); first += n_vocab) {
    compare_row(actual.subspan(first, n_vocab), expected.subspan(first, n_vocab), difference);
  }
  return difference;
}

namespace {

// Of a model that gives no text the mean of the states, which is compared like the logits of one position.
Result<std::vector<float>> outputs_of(LoadedModel& model, std::span<const TokenId> tokens) {
  const auto n_tokens = static_cast<uint32_t>(tokens.size());
  if (model.info.gives_text) return model.engine->logits(tokens, (n_tokens + 1) / 2, n_tokens);
  Request request;
  request.prompt.assign(tokens.begin(), tokens.end());
  request.pooling = Pooling::kMean;
  RZ_TRY(auto generation, model.engine->generate(request, {}));
  return std::move(generation.embedding);
}

}  // namespace

Result<std::string> check_parity(LoadedModel& loaded, const LoadOptions& options) {
  LoadOptions other_options = options;
  other_options.backend = loaded.backend->info().name == "cpu" ? BackendChoice::kReference : BackendChoice::kCpu;
  other_options.check = false;
  other_options.draft.path.clear();
  other_options.n_ctx = std::min(options.n_ctx > 0 ? options.n_ctx : kTokens, kTokens);
  other_options.batch.max_seqs = 1;
  other_options.cache.n_tokens = 0;
  RZ_TRY(const auto other, LoadedModel::load(loaded.info.path, other_options));
  const auto tokens = test_tokens(*other);
  RZ_TRY(const auto actual, outputs_of(loaded, tokens));
  RZ_TRY(const auto expected, outputs_of(*other, tokens));
  const bool gives_text = loaded.info.gives_text;
  const ParityDifference d = compare_logits(actual, expected, gives_text ? loaded.info.n_vocab : expected.size());
  if (!gives_text && d.error <= kMaxError) {
    return fmt::format("{} and {}: the vectors of a text differ by at most {:.2g} of their range",
                       loaded.backend->info().name, other->backend->info().name, d.error);
  }
  const std::string text = fmt::format(
      "{} and {}: logits of {} tokens differ by at most {:.2g} of their range, the likeliest token is the "
      "same after {}",
      loaded.backend->info().name, other->backend->info().name, d.n_positions, d.error, d.n_same);
  if (d.is_rounding()) return text;
  return Error{
      ErrorCode::kInternal,
      fmt::format("{}, or one within {} of the range after {}; expected at most {} and at least {:.0f} % of the "
                  "positions",
                  text, kTie, d.n_agreeing, kMaxError, 100 * kMinAgreeing),
      "check"};
}

}  // namespace realizar
