#include "api/parity_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace realizar {
namespace {

constexpr uint32_t kTokens = 48;
// Of the range of a position's logits: a few times what 8-bit activations cost.
constexpr double kMaxError = 0.05;

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

struct Difference {
  double error = 0;  // the largest, of the range of its position's logits
  uint32_t n_same = 0, n_positions = 0;
};

Difference compare(std::span<const float> actual, std::span<const float> expected, size_t n_vocab) {
  Difference difference;
  for (size_t first = 0; first < expected.size(); first += n_vocab) {
    const auto a = actual.subspan(first, n_vocab), e = expected.subspan(first, n_vocab);
    const auto [least, largest] = std::minmax_element(e.begin(), e.end());
    const double range = std::max(1e-30, double{*largest} - *least);
    for (size_t i = 0; i < n_vocab; ++i) {
      const double error = std::abs(double{a[i]} - e[i]) / range;
      difference.error = error <= difference.error ? difference.error : error;  // NaN counts as the largest
    }
    difference.n_same += std::max_element(a.begin(), a.end()) - a.begin() == largest - e.begin() ? 1 : 0;
    ++difference.n_positions;
  }
  return difference;
}

}  // namespace

Result<std::string> check_parity(LoadedModel& loaded, const LoadOptions& options) {
  LoadOptions other_options = options;
  other_options.backend = loaded.backend->name() == "cpu" ? "reference" : "cpu";
  other_options.check = false;
  other_options.draft_path.clear();
  other_options.n_ctx = std::min(options.n_ctx > 0 ? options.n_ctx : kTokens, kTokens);
  other_options.max_seqs = 1;
  other_options.kv_tokens = 0;
  RZ_TRY(const auto other, LoadedModel::load(loaded.info.path, other_options));
  const auto tokens = test_tokens(*other);
  const auto n_tokens = static_cast<uint32_t>(tokens.size()), n_prompt = (n_tokens + 1) / 2;
  RZ_TRY(const auto actual, loaded.engine->logits(tokens, n_prompt, n_tokens));
  RZ_TRY(const auto expected, other->engine->logits(tokens, n_prompt, n_tokens));
  const Difference d = compare(actual, expected, loaded.info.n_vocab);
  const std::string text = fmt::format(
      "{} and {}: logits of {} tokens differ by at most {:.2g} of their range, the likeliest token is the "
      "same after {}",
      loaded.backend->name(), other->backend->name(), d.n_positions, d.error, d.n_same);
  if (d.error <= kMaxError) return text;
  return Error{ErrorCode::kInternal, text + fmt::format("; expected at most {}", kMaxError), "check"};
}

}  // namespace realizar
