// Encoding speed in MB/s of one core: a book, and adversarial texts. Needs RZ_SHARED_DIR's vocabulary and book.
#include <benchmark/benchmark.h>

#include <fstream>
#include <iterator>
#include <string>

#include "text/tokenizer/tokenizer.h"

namespace realizar::text {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

const std::string kVocabulary = std::string(RZ_SHARED_DIR) + "/tokenizers/llama-3.tokenizer.json";

const Tokenizer* llama3() {
  static const Result<Tokenizer> tokenizer = Tokenizer::from_hf(read_file(kVocabulary), "");
  return tokenizer.ok() ? &*tokenizer : nullptr;
}

void encode(benchmark::State& state, const std::string& text) {
  const Tokenizer* tokenizer = llama3();
  if (tokenizer == nullptr || text.empty()) return state.SkipWithError("no vocabulary or text in RZ_SHARED_DIR");
  size_t n_tokens = 0;
  for (auto _ : state) n_tokens = tokenizer->encode(text).size();
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
  state.counters["tokens"] = static_cast<double>(n_tokens);
}

std::string repeated(std::string_view unit, size_t n_bytes) {
  std::string text;
  while (text.size() < n_bytes) text += unit;
  return text;
}

void load(benchmark::State& state) {
  const std::string json = read_file(kVocabulary);
  if (json.empty()) return state.SkipWithError("no vocabulary in RZ_SHARED_DIR");
  for (auto _ : state) benchmark::DoNotOptimize(Tokenizer::from_hf(json, ""));
}

constexpr size_t kLong = 10'000'000;

BENCHMARK(load)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(encode, war_and_peace, read_file(std::string(RZ_SHARED_DIR) + "/texts/war-and-peace.txt"))
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(encode, one_letter, repeated("a", kLong))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(encode, spaces, repeated(" ", kLong))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(encode, digits, repeated("7", kLong))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(encode, invalid_utf8, repeated("\xFF", kLong))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(encode, cut_utf8, repeated("\xE2\x82", kLong))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(encode, short_words, repeated("a ", kLong))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(encode, ideographs, repeated("\u4E2D", kLong))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(encode, newlines, repeated("\n", kLong))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(encode, alphabet, repeated("abcdefghijklmnopqrstuvwxyz", kLong))->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace realizar::text

BENCHMARK_MAIN();
