// What constrained generation costs a token: fill_mask and accept over JSON documents of several schemas, with a real
// vocabulary. Prints the median and slowest microseconds, the first time through and once the masks are kept.
// Usage: grammar_bench TOKENIZER.json [TEXT.json SCHEMA.json]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "grammar/matcher.h"
#include "text/tokenizer.h"

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

// Microseconds of each token; empty where the grammar refuses one.
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

void print(const char* when, std::vector<double> micros) {
  std::ranges::sort(micros);
  double sum = 0;
  for (const double us : micros) sum += us;
  std::printf("  %-12s median %8.2f us  p90 %8.2f us  max %8.1f us  mean %8.2f us\n", when, micros[micros.size() / 2],
              micros[micros.size() * 9 / 10], micros.back(), sum / static_cast<double>(micros.size()));
}

bool run(const Case& test, const text::Tokenizer& tokenizer, const std::shared_ptr<const grammar::TokenTrie>& trie,
         std::vector<double>& all_first, std::vector<double>& all_again) {
  const auto begin = Clock::now();
  const auto compiled = grammar::Grammar::from_json_schema(test.schema);
  const double compile_us = micros_since(begin);
  if (!compiled.ok()) {
    std::printf("%s: %s\n", test.name, compiled.error().message.c_str());
    return false;
  }
  const auto cache = std::make_shared<grammar::MaskCache>(*compiled, trie);
  const auto tokens = tokenizer.encode(test.text, {.add_special = false, .parse_special = false});
  std::vector<uint64_t> mask(trie->mask_words());
  const auto first = walk(cache, tokens, mask), again = walk(cache, tokens, mask);
  if (first.empty() || again.empty()) {
    std::printf("%s: the grammar refuses the text\n", test.name);
    return false;
  }
  std::printf("%s: %zu tokens, compiled in %.0f us, %zu states\n", test.name, tokens.size(), compile_us,
              (*compiled)->automaton().states.size());
  print("first time", first);
  print("again", again);
  all_first.insert(all_first.end(), first.begin(), first.end());
  all_again.insert(all_again.end(), again.begin(), again.end());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string path = argc > 1 ? argv[1] : std::string(RZ_SHARED_DIR) + "/tokenizers/llama-3.tokenizer.json";
  const auto tokenizer = text::Tokenizer::from_hf(read_file(path), "");
  if (!tokenizer.ok()) {
    std::printf("%s: %s\n", path.c_str(), tokenizer.error().message.c_str());
    return 1;
  }
  std::vector<std::string> bytes;
  for (int32_t id = 0; id < tokenizer->n_vocab(); ++id) bytes.push_back(tokenizer->token_bytes(TokenId{id}));
  const auto begin = Clock::now();
  const auto trie = std::make_shared<const grammar::TokenTrie>(bytes);
  std::printf("%d tokens, %zu trie nodes in %.0f ms\n", tokenizer->n_vocab(), trie->nodes().size(),
              micros_since(begin) / 1000);
  std::vector<double> first, again;
  bool ok = true;
  for (const Case& test : cases()) ok = run(test, *tokenizer, trie, first, again) && ok;
  if (argc > 3) ok = run({"given", read_file(argv[3]), read_file(argv[2])}, *tokenizer, trie, first, again) && ok;
  std::printf("all\n");
  print("first time", first);
  print("again", again);
  return ok ? 0 : 1;
}
