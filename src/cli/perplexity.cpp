#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/try.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/user_json.h"

namespace realizar::cli {
namespace {

struct PerplexityArgs {
  std::string model, file, against;
  uint32_t max_windows = 0;
  bool decode = false, json = false;
  LoadFlags load;
};

struct Score {
  double nll = 0;  // sum of negative log-likelihoods, in nats
  double nll_squared = 0;
  uint64_t n_tokens = 0;
  double divergence = 0;  // sum of the Kullback-Leibler divergences of the other model's predictions from this one's
  uint64_t n_same_top = 0;

  double perplexity() const { return std::exp(nll / static_cast<double>(n_tokens)); }
  // Standard error of the perplexity, derived from that of the mean.
  double error() const {
    const auto n = static_cast<double>(n_tokens);
    const double variance = nll_squared / n - (nll / n) * (nll / n);
    return perplexity() * std::sqrt(variance / n);
  }
};

// Subtracted from each logit to get its log-probability.
double log_normalizer(std::span<const float> logits) {
  const float max = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit - max));
  return std::log(sum) + max;
}

// Sum of p log(p / q) in nats, with p from `base`.
double divergence(std::span<const float> base, std::span<const float> logits, double normalizer) {
  const double base_normalizer = log_normalizer(base);
  double sum = 0;
  for (size_t i = 0; i < base.size(); ++i) {
    const double log_p = base[i] - base_normalizer, log_q = logits[i] - normalizer;
    sum += std::exp(log_p) * (log_p - log_q);
  }
  return sum;
}

// The window's second half is scored, so that each token has at least half a window before it.
constexpr uint32_t kDefaultWindow = 512;

void compare(std::span<const float> base, std::span<const float> logits, double normalizer, Score& score) {
  score.divergence += divergence(base, logits, normalizer);
  const auto top = [](std::span<const float> row) { return std::max_element(row.begin(), row.end()) - row.begin(); };
  if (top(base) == top(logits)) ++score.n_same_top;
}

// `base` may be null.
Status score_window(LanguageModel& model, LanguageModel* base, std::span<const TokenId> window, bool decode,
                    Score& score) {
  const auto n = static_cast<uint32_t>(window.size());
  const uint32_t n_context = n / 2;
  const uint32_t n_scored = n - n_context;
  const size_t n_vocab = model.info().n_vocab;
  const auto inputs = window.first(n - 1);
  const uint32_t n_prompt = decode ? n_context - 1 : n - 1;
  RZ_TRY(const auto logits, model.logits(inputs, n_prompt, n_scored));
  std::vector<float> base_logits;
  if (base != nullptr) {
    RZ_TRY(base_logits, base->logits(inputs, n_prompt, n_scored));
  }
  for (uint32_t i = 0; i < n_scored; ++i) {
    const auto row = std::span(logits).subspan(i * n_vocab, n_vocab);
    const double normalizer = log_normalizer(row);
    const double nll = normalizer - row[static_cast<size_t>(to_index(window[n_context + i]))];
    score.nll += nll;
    score.nll_squared += nll * nll;
    if (base != nullptr) compare(std::span(base_logits).subspan(i * n_vocab, n_vocab), row, normalizer, score);
  }
  score.n_tokens += n_scored;
  return {};
}

Result<Score> score_text(LanguageModel& model, LanguageModel* base, const PerplexityArgs& args) {
  const size_t n_window = model.info().n_ctx;
  RZ_TRY(const std::string text, read_text(args.file));
  RZ_TRY(const std::vector<TokenId> tokens, model.tokenize(text));
  RZ_TRY(const std::vector<TokenId> prefix, model.tokenize(""));
  const size_t n_windows_all = tokens.size() / n_window;
  if (n_windows_all == 0) {
    return invalid_argument(
        fmt::format("{} has {} tokens; one window needs {} (--ctx)", source_name(args.file), tokens.size(), n_window));
  }
  const size_t n_windows = args.max_windows > 0 ? std::min<size_t>(args.max_windows, n_windows_all) : n_windows_all;
  Score score;
  for (size_t i = 0; i < n_windows; ++i) {
    const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(i * n_window);
    std::vector<TokenId> window(begin, begin + static_cast<std::ptrdiff_t>(n_window));
    // If a text begins with a bos token, every window does.
    if (!prefix.empty()) window[0] = prefix[0];
    RZ_CHECK_OK(score_window(model, base, window, args.decode, score));
    if (stderr_is_terminal()) std::fprintf(stderr, "\r%zu/%zu  %.4f ", i + 1, n_windows, score.perplexity());
  }
  if (stderr_is_terminal()) std::fputs("\r\033[K", stderr);
  return score;
}

Result<int> perplexity(const PerplexityArgs& args) {
  LoadOptions options = args.load.options;
  if (options.n_ctx == 0) options.n_ctx = kDefaultWindow;
  RZ_TRY(LanguageModel model, load_model(args.model, options, args.load.store));
  std::optional<LanguageModel> base;
  if (!args.against.empty()) {
    RZ_TRY(base, load_model(args.against, options, args.load.store, nullptr));
    if (base->info().n_vocab != model.info().n_vocab) {
      return invalid_argument("the two models have vocabularies of different sizes", "against");
    }
  }
  RZ_TRY(const Score score, score_text(model, base ? &*base : nullptr, args));
  const auto n_tokens = static_cast<double>(score.n_tokens);
  nlohmann::ordered_json json{{"perplexity", score.perplexity()},
                              {"standard_error", score.error()},
                              {"n_tokens", score.n_tokens},
                              {"window", model.info().n_ctx},
                              {"arithmetic", args.decode ? "decode" : "prefill"}};
  std::string text =
      fmt::format("perplexity {:.4f} +/- {:.4f} over {} tokens\n", score.perplexity(), score.error(), score.n_tokens);
  if (base) {
    json["kl_divergence"] = score.divergence / n_tokens;
    json["same_top_token"] = static_cast<double>(score.n_same_top) / n_tokens;
    text +=
        fmt::format("KL divergence from {}: {:.6f} nats a token; the same first choice for {:.2f} %\n", args.against,
                    score.divergence / n_tokens, 100.0 * static_cast<double>(score.n_same_top) / n_tokens);
  }
  return (args.json ? print_line(json.dump()) : print(text)) ? kOk : kFailure;
}

}  // namespace

void add_perplexity(CommandLine& line) {
  auto args = std::make_shared<PerplexityArgs>();
  Flags flags = line.command(
      "perplexity",
      "Measure how well a model predicts a text. The text is cut into windows, the second half of each is scored with "
      "the first half as context, and exp(mean negative log-likelihood) is printed with its standard error. --ctx is "
      "the size of a window in tokens (default 512)");
  flags.option("model,-m,--model", args->model, "Model", {.is_required = true, .takes = kFile});
  flags.option("file", args->file, "Text file", {.is_required = true, .takes = kFile});
  flags.option("--max-windows", args->max_windows, "Score only the first N windows; 0: all", {.has_default = true});
  flags.flag("--decode", args->decode, "Score with the decode arithmetic, one token at a time");
  flags.option("--against", args->against,
               "Another file of the same model, e.g. in F16: print how much the predictions differ from its own",
               {.takes = kFile});
  flags.flag("--json", args->json, "Print JSON");
  args->load.add_to(flags);
  flags.examples({"realizar perplexity model.gguf text.txt",
                  "realizar perplexity model-Q4_K_M.gguf text.txt --against model-F16.gguf"});
  flags.runs([args] { return perplexity(*args); },
             [args] {
               const uint32_t n_ctx = args->load.options.n_ctx;
               return n_ctx > 0 && n_ctx < 4 ? "--ctx: a window has at least 4 tokens" : "";
             });
}

}  // namespace realizar::cli
