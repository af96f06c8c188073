// The gain from speculative tokens, from the text so far or with --draft from a smaller model: a model answers a prompt
// with a given text, token by token, with and without them in turns. The answer is forced by a constraint, so that a
// model with random weights writes it like a trained one; the cost of a step does not depend on the weights' values.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "base/try.h"
#include "realizar/engine.h"
#include "text/tokenizer/tokenizer.h"

using namespace realizar;

namespace {

struct Args {
  std::string model, tokenizer, draft, prompt, answer;
  uint32_t n_reps = 5, n_seqs = 1, n_threads = 0, max_tokens = 512;
};

// Allows only the next token of one text.
class OneText final : public TokenConstraint {
 public:
  explicit OneText(std::span<const TokenId> text) : text_(text) {}
  bool allow(std::span<uint64_t> allowed) override {
    std::ranges::fill(allowed, 0);
    if (n_said_ == text_.size()) return true;
    const auto id = static_cast<size_t>(to_index(text_[n_said_]));
    allowed[id / 64] |= uint64_t{1} << (id % 64);
    return true;
  }
  void accept(TokenId) override { ++n_said_; }
  std::shared_ptr<TokenConstraint> clone() const override { return std::make_shared<OneText>(*this); }

 private:
  std::span<const TokenId> text_;
  size_t n_said_ = 0;
};

struct Measured {
  double ms_a_token = 0;
  uint32_t n_drafted = 0, n_accepted = 0;
};

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

Result<LanguageModel> load(const Args& args, bool guesses) {
  LoadOptions options;
  options.cpu.n_threads = args.n_threads;
  options.batch.max_seqs = args.n_seqs;
  options.draft.guesses = guesses;
  if (guesses) options.draft.path = args.draft;
  return LanguageModel::load(args.model, options);
}

struct Texts {
  std::vector<TokenId> prompt, answer;
};

// With the named tokenizer, or the model's own.
Result<Texts> tokenize(const Args& args, const LanguageModel& model) {
  const std::string prompt = read_file(args.prompt), answer = read_file(args.answer);
  Texts texts;
  if (args.tokenizer.empty()) {
    RZ_TRY(texts.prompt, model.tokenize(prompt));
    RZ_TRY(texts.answer, model.tokenize(answer, false));
  } else {
    RZ_TRY(const auto tokenizer, text::Tokenizer::from_hf(read_file(args.tokenizer), ""));
    texts = {tokenizer.encode(prompt), tokenizer.encode(answer, {.add_special = false})};
  }
  texts.answer.resize(std::min<size_t>(texts.answer.size(), args.max_tokens));
  return texts;
}

// The time of the whole batch per token of the result.
Result<Measured> answer(LanguageModel& model, std::span<const TokenId> prompt, std::span<const TokenId> text,
                        uint32_t n_seqs) {
  std::vector<Request> requests(n_seqs);
  for (Request& request : requests) {
    request.prompt.assign(prompt.begin(), prompt.end());
    request.max_tokens = static_cast<uint32_t>(text.size());
    request.sampling.temperature = 0;
    request.ignore_eos = true;
    request.constraint = std::make_shared<OneText>(text);
  }
  RZ_TRY(const auto generations, model.generate_all(requests));
  Measured measured;
  double longest_ms = 0;
  size_t n_tokens = 0;
  for (const Generation& generation : generations) {
    longest_ms = std::max(longest_ms, generation.stats.decode_ms);
    n_tokens += generation.tokens.size();
    measured.n_drafted += generation.stats.n_drafted;
    measured.n_accepted += generation.stats.n_accepted;
  }
  measured.ms_a_token = longest_ms / static_cast<double>(n_tokens);
  return measured;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

Status run(const Args& args) {
  RZ_TRY(LanguageModel with, load(args, true));
  RZ_TRY(LanguageModel without, load(args, false));
  RZ_TRY(const Texts texts, tokenize(args, with));
  const auto& [prompt, text] = texts;
  std::vector<double> with_ms, without_ms, ratios;
  Measured last;
  for (uint32_t rep = 0; rep <= args.n_reps; ++rep) {
    RZ_TRY(const Measured plain, answer(without, prompt, text, args.n_seqs));
    RZ_TRY(last, answer(with, prompt, text, args.n_seqs));
    if (rep == 0) continue;  // in which the prompt is computed, and costs are learned
    without_ms.push_back(plain.ms_a_token);
    with_ms.push_back(last.ms_a_token);
    ratios.push_back(plain.ms_a_token / last.ms_a_token);
  }
  fmt::print(
      "{} tokens after {}, {} sequences: {:.1f} tok/s without guesses, {:.1f} with, {:.3f} times as many; {} "
      "guessed, {} right\n",
      text.size(), prompt.size(), args.n_seqs, 1e3 / median(without_ms), 1e3 / median(with_ms), median(ratios),
      last.n_drafted, last.n_accepted);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  Args args;
  CLI::App app("Measures guesses", "guess_bench");
  app.add_option("model", args.model, "Model file")->required();
  app.add_option("prompt", args.prompt, "Text file")->required();
  app.add_option("answer", args.answer, "Text file")->required();
  app.add_option("--tokenizer", args.tokenizer, "tokenizer.json in place of the model's own, with ids that it has");
  app.add_option("--draft", args.draft, "Smaller model that guesses");
  app.add_option("--reps", args.n_reps, "Repetitions of each");
  app.add_option("--seqs", args.n_seqs, "Equal sequences at once");
  app.add_option("--threads", args.n_threads, "Threads");
  app.add_option("--max-tokens", args.max_tokens, "Maximum tokens of the answer");
  CLI11_PARSE(app, argc, argv);
  const Status status = run(args);
  if (status.ok()) return 0;
  fmt::print(stderr, "guess_bench: {}\n", status.error().message);
  return 1;
}
