#include "grammar/matcher.h"

#include <random>

#include "base/result_checks.h"
#include "grammar/test_support.h"

namespace realizar::grammar {
namespace {

using Mask = std::vector<uint64_t>;

bool has_bit(const Mask& mask, size_t i) {
  return (mask[i / 64] >> (i % 64) & 1) != 0;
}

// All bytes, and pieces of JSON and of the small grammars below that cross their boundaries.
std::vector<std::string> small_vocabulary() {
  std::vector<std::string> tokens{
      "",     "{\"",   "\":", "\": ", "\",",  "\", \"", "\"}",      "\"},",     "}}",   "]}",       "},\n",
      "[]",   "[[",    "]]",  "],",   "true", "false",  "null",     "tr",       "ue,",  "  ",       "    ",
      "\n  ", "\n\n",  "\\u", "\\\"", "\\n",  "00",     "123",      "1.5",      "-1",   "e+",       ",\"",
      "name", "value", "na",  "me\"", "a\"",  "abc",    "\xC3\xA9", "\xE2\x82", "\xAC", "\xF0\x9F", "\x98\x80",
      "ab",   "ba",    "aab", "aaaa", "(((",  "))",     "()",       "x)",       "(x",   "xx",       "bb",
      "cab",  "\",\"", "1,",  ", 2",  "3]",   "aaaa)",  "a)",       "aa)("};
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  tokens.push_back("abc");  // a second token with the same bytes
  for (const size_t n : {15, 16, 17, 18, 40}) {
    for (const char* end : {"", ")", "\"", "\",", ")(("}) tokens.push_back(std::string(n, 'a') + end);
  }
  return tokens;
}

// The whole mask, in pieces of n_work.
MaskProgress prepare_all(Matcher& matcher, int64_t n_work) {
  for (;;) {
    int64_t n_left = n_work;
    const MaskProgress progress = matcher.prepare(n_left);
    if (progress != MaskProgress::kUnderWay) return progress;
  }
}

// Random walks along allowed tokens; at every step each token's bit must match the result of trying it on a copy. A
// walk ends where a mask costs too much, which n_too_costly counts.
void walk_and_compare(const std::shared_ptr<MaskCache>& cache, const std::vector<std::string>& tokens, int n_walks,
                      int n_steps, std::mt19937& random, int& n_too_costly) {
  Mask mask((tokens.size() + 63) / 64);
  for (int walk = 0; walk < n_walks; ++walk) {
    Matcher matcher(cache);
    std::string text;
    for (int step = 0; step < n_steps; ++step) {
      if (prepare_all(matcher, 1000) == MaskProgress::kTooCostly) {
        ++n_too_costly;
        break;
      }
      matcher.fill_mask(mask);
      std::vector<size_t> allowed;
      for (size_t i = 0; i < tokens.size(); ++i) {
        Matcher copy = matcher;
        const bool expected = !tokens[i].empty() && copy.accept_bytes(tokens[i]);
        ASSERT_EQ(has_bit(mask, i), expected) << "token '" << tokens[i] << "' after '" << text << "'";
        if (expected) allowed.push_back(i);
      }
      ASSERT_EQ(matcher.can_continue(), !allowed.empty()) << text;
      ASSERT_TRUE(matcher.is_complete() || !allowed.empty()) << text;
      if (allowed.empty()) break;
      const size_t next = allowed[random() % allowed.size()];
      matcher.accept_later(TokenId{static_cast<int32_t>(next)});
      text += tokens[next];
    }
  }
}

// Runs once with every state walked directly, and once with shared parts for all.
void expect_masks_equal_trying(const std::shared_ptr<const Grammar>& grammar, int n_walks, int n_steps,
                               std::mt19937& random, int& n_too_costly) {
  const std::vector<std::string> tokens = small_vocabulary();
  for (const uint64_t narrow_nodes : {MaskTable::kNarrowNodes, uint64_t{0}}) {
    SCOPED_TRACE(narrow_nodes);
    const auto cache = std::make_shared<MaskCache>(grammar, trie_of(tokens), size_t{64} << 20, narrow_nodes);
    walk_and_compare(cache, tokens, n_walks, n_steps, random, n_too_costly);
  }
}

TEST(Matcher, MasksEqualTryingEveryToken) {
  const char* const sources[] = {
      "root ::= \"(\" root \")\" | \"x\"*",
      "root ::= (\"a\" | \"ab\" | \"b\")* \"c\"",
      "root ::= word (\", \" word){0,3}\nword ::= [a-z]{1,200}",
      "root ::= .{90,95}",
      "root ::= [a]{90,120} (\")\" | \"(\")*",
      "root ::= ([a]{40,} \")\"){2} \"(\"*",
      "root ::= s\ns ::= \"a\" s \"b\" s | \"\"",
      "root ::= a | b\na ::= \"a\" a \"b\" | \"x\"\nb ::= \"a\" b \"bb\" | \"x\"",
      "root ::= (\"a\"? \"b\"?){0,100} \"c\"?",
  };
  std::mt19937 random(1);
  int n_too_costly = 0;
  for (const char* source : sources) {
    const auto grammar = must(Grammar::from_gbnf(source));
    SCOPED_TRACE(source);
    expect_masks_equal_trying(grammar, 30, 80, random, n_too_costly);
  }
  EXPECT_EQ(n_too_costly, 0);
}

TEST(Matcher, MasksOfSchemasEqualTryingEveryToken) {
  const char* const schemas[] = {
      R"({"type": "object"})",
      R"({"type": "object", "properties": {"name": {"type": "string"}, "value": {"type": "number"}}, "required": ["name"]})",
      R"({"type": "array", "items": {"type": "string", "maxLength": 40}, "maxItems": 100})",
      R"({"type": "object", "properties": {"a": {"type": "string", "minLength": 3, "maxLength": 300}, "b": {"type": "array", "items": {"$ref": "#"}}}, "additionalProperties": false})",
      R"({"type": "string", "pattern": "^(ab|a)*c?[xyz]{2,90}$"})",
      R"({"type": "array", "items": {"type": "integer", "minimum": -50, "maximum": 1200}})",
  };
  std::mt19937 random(2);
  int n_too_costly = 0;
  for (const char* schema : schemas) {
    const auto grammar = must(Grammar::from_json_schema(schema));
    SCOPED_TRACE(schema);
    expect_masks_equal_trying(grammar, 20, 80, random, n_too_costly);
  }
  EXPECT_EQ(n_too_costly, 0);
}

// An expression over a, b, c, x, ( and ), and over rules with higher numbers or after a character.
std::string random_expression(std::mt19937& random, int rule, int n_rules, int depth) {
  const auto inner = [&] { return random_expression(random, rule, n_rules, depth - 1); };
  switch (random() % (depth > 0 ? 9 : 3)) {
    case 0:
      return std::string("\"") + "abcx()"[random() % 6] + "\"";
    case 1:
      return std::vector<std::string>{"[a-c]", "[^a]", "\"ab\"", "[x()]"}[random() % 4];
    case 2: {
      const int other = static_cast<int>(random() % static_cast<unsigned>(n_rules));
      const std::string name = "r" + std::to_string(other);
      return other > rule ? name : "\"(\" " + name + "? \")\"";
    }
    case 3:
      return "(" + inner() + " | " + inner() + ")";
    case 4:
      return "(" + inner() + ")*";
    case 5:
      return "(" + inner() + "){" + std::to_string(random() % 3) + "," + std::to_string(3 + random() % 60) + "}";
    case 6:
      return "(" + inner() + ")?";
    default:
      return inner() + " " + inner();
  }
}

TEST(Matcher, MasksOfRandomGrammarsEqualTryingEveryToken) {
  std::mt19937 random(3);
  int n_compiled = 0, n_too_costly = 0;
  for (int round = 0; round < 400; ++round) {
    constexpr int kRules = 4;
    std::string source = "root ::= r0 r1\n";
    for (int rule = 0; rule < kRules; ++rule)
      source += "r" + std::to_string(rule) + " ::= " + random_expression(random, rule, kRules, 4) + "\n";
    const auto grammar = Grammar::from_gbnf(source);
    if (!grammar.ok()) continue;
    ++n_compiled;
    SCOPED_TRACE(source);
    expect_masks_equal_trying(*grammar, 2, 12, random, n_too_costly);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(n_compiled, 200);
  EXPECT_LT(n_too_costly, n_compiled / 50);
}

// 150,000 tokens of letters, blanks and brackets, up to 12 bytes long.
std::vector<std::string> large_vocabulary() {
  constexpr std::string_view kChars = "abcdefghijklmnopqrstuvwxyz ()]0123456789";
  std::mt19937 random(4);
  std::vector<std::string> tokens(150'000);
  for (std::string& token : tokens) {
    token.resize(1 + random() % 12);
    for (char& c : token) c = kChars[random() % kChars.size()];
  }
  return tokens;
}

// Rules that call each other in several ways, so that one text has many stacks.
std::vector<std::string> ambiguous_grammars(int n_rules) {
  std::string nested = "root ::= r0", prefixes = "root ::= r0", deep = "root ::= r0";
  for (int i = 1; i < n_rules; ++i) nested += " | r" + std::to_string(i), prefixes += " | r" + std::to_string(i);
  for (int i = 0; i < n_rules; ++i) {
    const auto rule = [&](int other) { return "r" + std::to_string(other % n_rules); };
    const std::string name = "\n" + rule(i) + " ::= ";
    if (i + 1 == n_rules) {
      nested += name + "\"z\"";
    } else {
      nested += name + "[a-z ]* " + rule(i + 1) + "x? [a-z ]*";
    }
    nested += "\n" + rule(i) + "x ::= [a-z ]+ " + rule(i) + "? | \"(\" " + rule(13 * i + 5) + " \")\"";
    prefixes += name + "[a-z]+ " + rule(7 * i + 3) + " \"1\" | [a-z]+ " + rule(11 * i + 1) + " [0-9] | \"a\"";
    deep += name + "\"(\" " + rule(i + 1) + " \")\" | \"(\" " + rule(5 * i + 2) + " \"]\" | [a-z ]+";
  }
  return {nested, prefixes, deep};
}

// For any grammar, a call with little work allowed does little: at most one step of the sets more.
TEST(Matcher, NoCallDoesMuchMoreThanItMay) {
  constexpr int64_t kMay = 20'000;
  constexpr auto kMore = static_cast<int64_t>(2 * StackSets::kMaxCallWork * MaskTable::kFrameWork);
  const auto trie = trie_of(large_vocabulary());
  Mask mask(trie->mask_words());
  std::mt19937 random(5);
  for (const std::string& source : ambiguous_grammars(300)) {
    const auto grammar = must(Grammar::from_gbnf(source));
    Matcher matcher(std::make_shared<MaskCache>(grammar, trie));
    for (int n_tokens = 0; n_tokens < 4; ++n_tokens) {
      MaskProgress progress = MaskProgress::kUnderWay;
      while (progress == MaskProgress::kUnderWay) {
        int64_t n_left = kMay;
        progress = matcher.prepare(n_left);
        ASSERT_GE(n_left, -kMore) << source.substr(0, 100);
      }
      if (progress == MaskProgress::kTooCostly) break;
      matcher.fill_mask(mask);
      std::vector<int32_t> allowed;
      for (size_t i = 0; i < trie->n_vocab(); ++i) {
        if (has_bit(mask, i)) allowed.push_back(static_cast<int32_t>(i));
      }
      if (allowed.empty()) break;
      matcher.accept_later(TokenId{allowed[random() % allowed.size()]});
    }
  }
}

// No token is forbidden silently.
TEST(Matcher, AStepThatIsTooAmbiguousMakesTheMaskTooCostly) {
  const auto grammar = must(Grammar::from_gbnf(ambiguous_grammars(600)[0]));
  Matcher matcher(std::make_shared<MaskCache>(grammar, trie_of(small_vocabulary())));
  EXPECT_EQ(prepare_all(matcher, 1000), MaskProgress::kTooCostly);
}

TEST(Matcher, ATokenThatIsAcceptedLaterAndNotAllowedChangesNothing) {
  const auto grammar = must(Grammar::from_gbnf("root ::= \"abc\""));
  Matcher matcher = matcher_of(grammar);
  matcher.accept_later(TokenId{'a'});
  matcher.accept_later(TokenId{'x'});
  EXPECT_FALSE(matcher.is_complete());
  matcher.accept_later(TokenId{'b'});
  matcher.accept_later(TokenId{'c'});
  EXPECT_TRUE(matcher.is_complete());
}

TEST(SetMemo, FindsWhatWasInsertedWhileItGrows) {
  SetMemo memo;
  const auto key_of = [](uint32_t i) { return (uint64_t{i} + 1) * 0x9E3779B97F4A7C15u; };
  constexpr uint32_t kEntries = 100'000;
  EXPECT_EQ(memo.find(key_of(0)), 0u);
  for (uint32_t i = 0; i < kEntries; ++i) memo.insert(key_of(i), i + 1);
  for (uint32_t i = 0; i < kEntries; ++i) ASSERT_EQ(memo.find(key_of(i)), i + 1);
  EXPECT_EQ(memo.find(key_of(kEntries)), 0u);
}

TEST(Matcher, RefusesWithoutMoving) {
  const auto grammar = must(Grammar::from_gbnf("root ::= \"abc\""));
  Matcher matcher = matcher_of(grammar);
  EXPECT_FALSE(matcher.accept_bytes("abd"));
  EXPECT_FALSE(matcher.accept(TokenId{'b'}));
  EXPECT_FALSE(matcher.accept(TokenId{-1}));
  EXPECT_FALSE(matcher.accept(TokenId{100000}));
  EXPECT_TRUE(matcher.accept_bytes("ab"));
  EXPECT_FALSE(matcher.is_complete());
  EXPECT_TRUE(matcher.accept(TokenId{'c'}));
  EXPECT_TRUE(matcher.is_complete());
  EXPECT_FALSE(matcher.can_continue());
}

TEST(Matcher, CopiesGoTheirOwnWays) {
  const auto grammar = must(Grammar::from_gbnf("root ::= \"ab\" | \"cd\" | \"ae\""));
  Matcher matcher = matcher_of(grammar);
  Matcher saved = matcher;
  ASSERT_TRUE(matcher.accept_bytes("a"));
  ASSERT_TRUE(saved.accept_bytes("cd"));
  EXPECT_TRUE(matcher.accept_bytes("e"));
}

// A cache too small for anything starts over at each call, without a visible effect.
TEST(Matcher, OutlivesItsCachesTables) {
  const auto grammar =
      must(Grammar::from_json_schema(R"({"type": "array", "items": {"type": "string", "maxLength": 200}})"));
  const auto trie = trie_of(small_vocabulary());
  const auto small = std::make_shared<MaskCache>(grammar, trie, 1);
  const auto large = std::make_shared<MaskCache>(grammar, trie);
  Matcher first(small), second(small), expected(large);
  Mask mask(trie->mask_words()), expected_mask(trie->mask_words());
  for (const char byte : std::string(R"(["abc", ["x"]])")) {
    first.fill_mask(mask);
    expected.fill_mask(expected_mask);
    EXPECT_EQ(mask, expected_mask);
    second.fill_mask(mask);
    EXPECT_EQ(mask, expected_mask);
    const std::string_view text(&byte, 1);
    const bool ok = expected.accept_bytes(text);
    EXPECT_EQ(first.accept_bytes(text), ok);
    EXPECT_EQ(second.accept_bytes(text), ok);
  }
}

// Near the limit of the stack's depth the masks still agree with accept().
TEST(Matcher, MasksHoldAtTheDepthsLimit) {
  const auto grammar = must(Grammar::from_gbnf("root ::= \"(\" root \")\" | \"x\""));
  const auto trie = trie_of(small_vocabulary());
  Matcher matcher(std::make_shared<MaskCache>(grammar, trie, size_t{64} << 20, 0));
  Mask mask(trie->mask_words());
  const auto tokens = small_vocabulary();
  for (int depth = 0; depth < 1100 && matcher.accept_bytes("("); ++depth) {
    if (depth < 980) continue;
    matcher.fill_mask(mask);
    for (size_t i = 1; i < tokens.size(); ++i) {
      Matcher copy = matcher;
      ASSERT_EQ(has_bit(mask, i), copy.accept_bytes(tokens[i])) << tokens[i] << " at depth " << depth;
    }
  }
}

TEST(TokenTrie, KeepsEveryTokenOnce) {
  const auto tokens = small_vocabulary();
  const TokenTrie trie(tokens);
  std::vector<int> n_seen(tokens.size(), 0);
  std::string path;
  for (uint32_t i = 0; i < trie.nodes().size(); ++i) {
    const auto& node = trie.nodes()[i];
    path.resize(node.depth - 1u);
    path += static_cast<char>(node.byte);
    for (const TokenId id : trie.tokens_at(i)) {
      ++n_seen[static_cast<size_t>(to_index(id))];
      EXPECT_EQ(tokens[static_cast<size_t>(to_index(id))], path);
    }
  }
  for (size_t i = 0; i < tokens.size(); ++i) EXPECT_EQ(n_seen[i], tokens[i].empty() ? 0 : 1) << tokens[i];
}

}  // namespace
}  // namespace realizar::grammar
