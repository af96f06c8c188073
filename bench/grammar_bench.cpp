// The cost of constrained generation per token, fill_mask and accept, over JSON documents of several schemas: median
// and maximum in microseconds, the first time through a grammar and with cached masks.
// Usage: grammar_bench [--benchmark_...] [TOKENIZER.json | MODEL.gguf]; by default RZ_SHARED_DIR's Llama 3 vocabulary.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "api/text_assets.h"
#include "base/try.h"
#include "formats/model_file.h"
#include "grammar/matcher.h"
#include "text/tokenizer/tokenizer.h"

namespace {

using namespace realizar;
using Clock = std::chrono::steady_clock;

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

double micros_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

struct Case {
  const char* name;
  std::string schema, text;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"any object", R"({"type": "object"})",
       R"({"id": 1027, "title": "The old man and the sea", "tags": ["novel", "short"], "author": {"name": "Ernest Hemingway", "born": 1899, "alive": false}, "ratings": [4.5, 3.75, 5], "note": null})"},
      {"person", R"({"type": "object", "additionalProperties": false, "required": ["name", "age", "email"],
         "properties": {"name": {"type": "string", "minLength": 1, "maxLength": 80}, "age": {"type": "integer", "minimum": 0, "maximum": 150},
           "email": {"type": "string", "format": "email"}, "address": {"type": "object", "properties": {"street": {"type": "string"},
           "city": {"type": "string"}, "zip": {"type": "string", "pattern": "^[0-9]{5}$"}}, "required": ["street", "city"], "additionalProperties": false},
           "tags": {"type": "array", "items": {"enum": ["vip", "staff", "guest"]}, "maxItems": 5}}})",
       R"({"name": "Margarethe von Hohenlohe", "age": 47, "email": "margarethe@hohenlohe.example.org", "address": {"street": "Am Schlossberg 12", "city": "Heidelberg", "zip": "69117"}, "tags": ["vip", "guest"]})"},
      {"tool call", R"({"anyOf": [
         {"type": "object", "properties": {"name": {"const": "get_weather"}, "arguments": {"type": "object", "properties": {"location": {"type": "string"}, "unit": {"enum": ["celsius", "fahrenheit"]}}, "required": ["location"], "additionalProperties": false}}, "required": ["name", "arguments"], "additionalProperties": false},
         {"type": "object", "properties": {"name": {"const": "search"}, "arguments": {"type": "object", "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}}, "required": ["query"], "additionalProperties": false}}, "required": ["name", "arguments"], "additionalProperties": false}]})",
       R"({"name": "search", "arguments": {"query": "cheapest train from Berlin to Warsaw tomorrow before noon, second class", "limit": 10}})"},
      {"recursive",
       R"({"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "additionalProperties": false, "required": ["tag", "children"],
         "properties": {"tag": {"type": "string"}, "text": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}}})",
       R"({"tag": "html", "children": [{"tag": "body", "children": [{"tag": "h1", "text": "Constrained generation, measured", "children": []}, {"tag": "p", "text": "A paragraph of some words.", "children": [{"tag": "em", "text": "more", "children": []}]}]}]})"},
      {"indented",
       R"({"type": "object", "properties": {"steps": {"type": "array", "items": {"type": "object", "properties": {"explanation": {"type": "string"}, "output": {"type": "string"}}, "required": ["explanation", "output"], "additionalProperties": false}}, "final_answer": {"type": "string"}}, "required": ["steps", "final_answer"], "additionalProperties": false})",
       "{\n  \"steps\": [\n    {\n      \"explanation\": \"Subtract 7 from both sides of the equation.\",\n      "
       "\"output\": \"8x = -30\"\n    },\n    {\n      \"explanation\": \"Divide both sides by 8.\",\n      "
       "\"output\": \"x = -3.75\"\n    }\n  ],\n  \"final_answer\": \"x = -3.75\"\n}"},
  };
  return all;
}

// Microseconds for each token; empty if the grammar refuses one.
std::vector<double> walk(const std::shared_ptr<grammar::MaskCache>& cache, const std::vector<TokenId>& tokens,
                         std::vector<uint64_t>& mask) {
  std::vector<double> micros;
  grammar::Matcher matcher(cache);
  for (const TokenId token : tokens) {
    const auto begin = Clock::now();
    matcher.fill_mask(mask);
    const auto i = static_cast<size_t>(to_index(token));
    const bool ok = (mask[i / 64] >> (i % 64) & 1) != 0 && matcher.accept(token);
    micros.push_back(micros_since(begin));
    if (!ok) return {};
  }
  return matcher.is_complete() ? micros : std::vector<double>();
}

struct Vocabulary {
  text::Tokenizer tokenizer;
  std::shared_ptr<const grammar::TokenTrie> trie;
};

Result<text::Tokenizer> load_vocabulary(const std::string& path) {
  if (!path.ends_with(".gguf")) return text::Tokenizer::from_hf(read_file(path), "");
  RZ_TRY(const ModelFile file, ModelFile::open(path));
  return load_tokenizer(file);
}

// One iteration is one document. With `keeps_masks` all iterations share a cache that has seen the document.
void generate(benchmark::State& state, const Case& test, const Vocabulary& vocabulary, bool keeps_masks) {
  const auto compiled = grammar::Grammar::from_json_schema(test.schema);
  if (!compiled.ok()) return state.SkipWithError(compiled.error().message.c_str());
  const auto tokens = vocabulary.tokenizer.encode(test.text, {.add_special = false, .parse_special = false});
  std::vector<uint64_t> mask(vocabulary.trie->mask_words());
  const auto new_cache = [&] { return std::make_shared<grammar::MaskCache>(*compiled, vocabulary.trie); };
  auto cache = new_cache();
  if (keeps_masks) (void)walk(cache, tokens, mask);
  std::vector<double> micros;
  for (auto _ : state) {
    if (!keeps_masks) cache = new_cache();
    const auto own = walk(cache, tokens, mask);
    if (own.empty()) return state.SkipWithError("the grammar refuses the document");
    micros.insert(micros.end(), own.begin(), own.end());
  }
  std::ranges::sort(micros);
  state.counters["tokens"] = static_cast<double>(tokens.size());
  state.counters["median_us"] = micros[micros.size() / 2];
  state.counters["p99_us"] = micros[micros.size() * 99 / 100];
  state.counters["max_us"] = micros.back();
}

void compile(benchmark::State& state, const Case& test) {
  for (auto _ : state) benchmark::DoNotOptimize(grammar::Grammar::from_json_schema(test.schema));
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const std::string path = argc > 1 ? argv[1] : std::string(RZ_SHARED_DIR) + "/tokenizers/llama-3.tokenizer.json";
  auto tokenizer = load_vocabulary(path);
  if (!tokenizer.ok()) {
    std::fprintf(stderr, "%s: %s\n", path.c_str(), tokenizer.error().message.c_str());
    return EXIT_FAILURE;
  }
  std::vector<std::string> bytes;
  for (int32_t id = 0; id < tokenizer->n_vocab(); ++id) bytes.push_back(tokenizer->token_bytes(TokenId{id}));
  const Vocabulary vocabulary{std::move(*tokenizer), std::make_shared<const grammar::TokenTrie>(bytes)};
  for (const Case& test : cases()) {
    const auto named = [&](const char* what) { return std::string(what) + "/" + test.name; };
    benchmark::RegisterBenchmark(named("compile").c_str(), [&](benchmark::State& state) {
      compile(state, test);
    })->Unit(benchmark::kMicrosecond);
    for (const bool keeps_masks : {false, true}) {
      benchmark::RegisterBenchmark(named(keeps_masks ? "again" : "first_time").c_str(), [&, keeps_masks](
                                                                                            benchmark::State& state) {
        generate(state, test, vocabulary, keeps_masks);
      })->Unit(benchmark::kMicrosecond);
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  return EXIT_SUCCESS;
}
