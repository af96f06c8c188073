// Any bytes as a grammar in Lark's notation: an error with a message, or a grammar whose masks agree with what it
// accepts, by itself and inside a JSON string.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "grammar/lark.h"
#include "grammar/rule_copy.h"
#include "grammar_walk.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace realizar::grammar;
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  if (size > 4096) return 0;
  const auto rules = parse_lark(source, "lark");
  if (!rules.ok()) {
    if (rules.error().message.empty() || rules.error().subject != "lark") std::abort();
    return 0;
  }
  for (const bool is_json : {false, true}) {
    RuleBook book;
    const RuleId root = book.named("root");
    book.define(root, copy_rules(book, *rules, is_json));
    const auto grammar = Grammar::from_rules(book.take(root), {.max_states = 20'000});
    if (grammar.ok()) walk_grammar(*grammar, static_cast<uint32_t>(size));
  }
  return 0;
}
