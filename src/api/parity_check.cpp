#include "api/parity_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backend/backend.h"
#include "base/check.h"
#include "base/try.h"
#include "engine/engine.h"

namespace realizar {
namespace {

constexpr uint32_t kTokens = 48;
// For float caches: kMaxError is a few times the error that 8-bit activations cause.
constexpr double kMaxError = 0.05, kTie = 0.02;
// The share of positions at which both backends choose the same token.
constexpr double kMinAgreeing = 0.95;

constexpr const char* kText =
    "The first machines that computed filled whole rooms, and the people who tended them were called operators. A "
    "program was a deck of cards; a mistake cost a day. What is remarkable is how little of that has changed.";

std::vector<TokenId> test_tokens(const LoadedModel& loaded) {
  std::vector<TokenId> tokens;
  if (loaded.tokenizer) tokens = loaded.tokenizer->encode(kText);
  // The model may have no tokenizer, or yield few tokens for the text.
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

void compare_row(std::span<const float> actual, std::span<const float> expected, double tie,
                 ParityDifference& difference) {
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
  difference.n_agreeing += *largest - double{expected[chosen]} <= tie * range ? 1 : 0;
}

// How much farther apart rounding brings two backends than with a float cache. Keys and values that differ by d before
// they are stored mostly round to the same number, and else, with probability d / s, to neighbours that are a step s
// apart: sqrt(d * s) in the root mean square. With q8_0, s is 1/127 of a block's largest number, as for the 8-bit
// activations that cause d; with fp8, which has three bits after the first, it is a few times as much; with q4_0 it is
// 1/8. Measured over 49 models: at most 0.024 of the range with f16, 0.030 with q8_0, 0.050 with fp8, 0.092 with q4_0.
// A wrong rotation gives 0.6.
double spread_of(CacheType type) {
  switch (type) {
    case CacheType::kF32:
    case CacheType::kF16:
    case CacheType::kBF16:
      return 1;
    case CacheType::kQ8_0:
    case CacheType::kFp8:
      return 2;
    case CacheType::kQ4_0:
      return 5;
  }
  return 1;
}

}  // namespace

ParityBounds ParityBounds::of(CacheType type) {
  return {kMaxError * spread_of(type), kTie * spread_of(type)};
}

bool ParityDifference::is_rounding(const ParityBounds& bounds) const {
  return error <= bounds.max_error && n_agreeing >= kMinAgreeing * n_positions;
}

ParityDifference compare_logits(std::span<const float> actual, std::span<const float> expected, size_t n_vocab,
                                const ParityBounds& bounds) {
  ParityDifference difference;
  REQUIRE(actual.size() == expected.size());
  for (size_t first = 0; first < expected.size(); first += n_vocab) {
    compare_row(actual.subspan(first, n_vocab), expected.subspan(first, n_vocab), bounds.tie, difference);
  }
  return difference;
}

namespace {

// For encoders, compares the mean hidden state as if it were the logits of one position.
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
  other_options.ranks = nullptr;
  other_options.draft.path.clear();
  other_options.warm_up = other_options.hash_weights = false;
  other_options.n_ctx = loaded.info.n_ctx;
  other_options.batch.max_seqs = 1;
  other_options.cache.n_tokens = 0;
  RZ_TRY(const auto other, LoadedModel::load_for_short(loaded.info.path, other_options, kTokens));
  const auto tokens = test_tokens(*other);
  RZ_TRY(const auto actual, outputs_of(loaded, tokens));
  RZ_TRY(const auto expected, outputs_of(*other, tokens));
  const bool gives_text = loaded.info.gives_text;
  const ParityBounds bounds = ParityBounds::of(options.cache.type);
  const size_t n_cols = gives_text ? loaded.info.n_vocab : expected.size();
  const ParityDifference d = compare_logits(actual, expected, n_cols, bounds);
  if (!gives_text && d.error <= bounds.max_error) {
    return fmt::format("{} and {}: the vectors of a text differ by at most {:.2g} of their range",
                       loaded.backend->info().name, other->backend->info().name, d.error);
  }
  const std::string text = fmt::format(
      "{} and {}: logits of {} tokens differ by at most {:.2g} of their range, the likeliest token is the "
      "same after {}",
      loaded.backend->info().name, other->backend->info().name, d.n_positions, d.error, d.n_same);
  if (d.is_rounding(bounds)) return text;
  return Error{
      ErrorCode::kInternal,
      fmt::format("{}, or one within {} of the range after {}; expected at most {} and at least {:.0f} % of the "
                  "positions",
                  text, bounds.tie, d.n_agreeing, bounds.max_error, 100 * kMinAgreeing),
      "check"};
}

}  // namespace realizar
