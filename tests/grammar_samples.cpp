// Writes random documents that the masks of schemas allow, for grammar_oracle.py.
// Usage: grammar_samples SEED N < SCHEMAS, one per line  ->  N lines per schema: its index, a tab, the document
#include <cstdio>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "grammar/matcher.h"

namespace {

using namespace realizar;

std::vector<std::string> vocabulary() {
  std::vector<std::string> tokens{"{\"",  "\": ", "\", \"", "\"}", "\"", "}",    "]",       ",",
                                  "true", "abc",  "-",      ".",   "12", "\\\"", "\\u00e9", "\xC3\xA9"};
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  return tokens;
}

// Closing tokens become likelier with the length of the document, so that it ends.
size_t choose(const std::vector<size_t>& allowed, const std::vector<std::string>& tokens, size_t length,
              std::mt19937& random) {
  if (random() % 200 < length) {
    for (const size_t i : allowed) {
      if (tokens[i] == "\"" || tokens[i] == "}" || tokens[i] == "]") return i;
    }
  }
  return allowed[random() % allowed.size()];
}

bool sample(const std::shared_ptr<grammar::MaskCache>& cache, const std::vector<std::string>& tokens,
            std::mt19937& random, std::string& text) {
  grammar::Matcher matcher(cache);
  std::vector<uint64_t> mask((tokens.size() + 63) / 64);
  for (int step = 0; step < 4000; ++step) {
    matcher.fill_mask(mask);
    std::vector<size_t> allowed;
    for (size_t i = 0; i < tokens.size(); ++i) {
      if ((mask[i / 64] >> (i % 64) & 1) != 0) allowed.push_back(i);
    }
    if (matcher.is_complete() && (allowed.empty() || random() % 3 == 0)) return true;
    if (allowed.empty()) return false;
    const size_t next = choose(allowed, tokens, text.size(), random);
    if (!matcher.accept(TokenId{static_cast<int32_t>(next)})) return false;
    text += tokens[next];
  }
  return matcher.is_complete();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::mt19937 random(static_cast<unsigned>(std::stoul(argv[1])));
  const auto tokens = vocabulary();
  const auto trie = std::make_shared<const grammar::TokenTrie>(tokens);
  std::string schema;
  for (int index = 0; std::getline(std::cin, schema); ++index) {
    const auto compiled = grammar::Grammar::from_json_schema(schema);
    if (!compiled.ok()) {
      std::fprintf(stderr, "%s: %s\n", schema.c_str(), compiled.error().message.c_str());
      return 1;
    }
    const auto cache = std::make_shared<grammar::MaskCache>(*compiled, trie);
    for (int i = 0; i < std::stoi(argv[2]); ++i) {
      std::string text;
      if (!sample(cache, tokens, random, text)) continue;
      // Line ends are only between values; in strings they are escaped.
      for (char& c : text) c = c == '\n' ? ' ' : c;
      std::printf("%d\t%s\n", index, text.c_str());
    }
  }
  return 0;
}
