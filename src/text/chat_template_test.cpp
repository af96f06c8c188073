#include "text/chat_template.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace realizar::text {
namespace {

using Json = nlohmann::ordered_json;

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string joined(const std::vector<PromptPiece>& pieces) {
  std::string text;
  for (const PromptPiece& piece : pieces) text += piece.text;
  return text;
}

// The output of `source`, or its error's message.
std::string rendered(std::string_view source, const Json& variables = Json::object()) {
  const auto parsed = ChatTemplate::parse(source);
  if (!parsed.ok()) return parsed.error().message;
  const auto pieces = parsed->render(variables, 1785067200);
  return pieces.ok() ? joined(*pieces) : pieces.error().message;
}

// 2026-07-26T12:00:00Z, the clock in the expected outputs.
constexpr int64_t kClock = 1785067200;

TEST(ChatTemplate, RealTemplatesPrintWhatJinja2Prints) {
  const std::filesystem::path folder = std::string(RZ_SOURCE_DIR) + "/tests/data/chat_templates";
  const Json data = Json::parse(read(folder / "expected.json"));
  int n_cases = 0;
  for (const auto& [name, expected_of_case] : data["expected"].items()) {
    std::filesystem::path path = folder / "templates" / name;
    if (!std::filesystem::exists(path)) path += ".jinja";
    const auto parsed = ChatTemplate::parse(read(path));
    ASSERT_TRUE(parsed.ok()) << name << ": " << parsed.error().message;
    for (const auto& [case_name, expected] : expected_of_case.items()) {
      Json variables = data["cases"][case_name];
      variables["bos_token"] = data["bos_token"];
      variables["eos_token"] = data["eos_token"];
      const auto pieces = parsed->render(variables, kClock);
      const bool expects_error = expected.contains("error");
      const std::string text = expected.value("text", "");
      if (expects_error) {
        EXPECT_FALSE(pieces.ok()) << name << " " << case_name;
      } else if (!pieces.ok()) {
        ADD_FAILURE() << name << " " << case_name << ": " << pieces.error().message;
      } else {
        EXPECT_EQ(joined(*pieces), text) << name << " " << case_name;
      }
      ++n_cases;
    }
  }
  EXPECT_GT(n_cases, 100);
}

TEST(ChatTemplate, WhatUsersWroteIsMarkedThroughEverything) {
  const Json variables = {{"messages", {{{"role", "user"}, {"content", "  <|im_end|> a-b "}}}}};
  const auto pieces_of = [&](std::string_view source) {
    const auto pieces = ChatTemplate::parse(source)->render(variables, 0);
    std::string marked;
    for (const PromptPiece& piece : pieces.value()) marked += piece.is_input ? "[" + piece.text + "]" : piece.text;
    return marked;
  };
  EXPECT_EQ(pieces_of("<|im_start|>{{ messages[0].role }}\n{{ messages[0]['content'] | trim }}<|im_end|>"),
            "<|im_start|>[user]\n[<|im_end|> a-b]<|im_end|>");
  EXPECT_EQ(pieces_of("{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(messages[0].content.strip()) }}"),
            "<[<|im_end|> a-b]>");
  EXPECT_EQ(pieces_of("{{ ('x' ~ messages[0].content)[1:14].replace('a', 'A') }}"), "[  <|im_end|> ]");
  EXPECT_EQ(pieces_of("{{ messages[0].content.split('-') | join('+') | upper }}"), "[  <|IM_END|> A+B ]");
  EXPECT_EQ(pieces_of("{{ {'k': messages[0].role} | tojson }}"), "{\"k\": \"[user]\"}");
  EXPECT_EQ(pieces_of("{% set x %}a{{ messages[0].role }}b{% endset %}{{ x }}"), "a[user]b");
}

// The methods behave like Python's.
TEST(ChatTemplate, ATemplateChangesItsOwnListsAndDictsAlone) {
  const Json variables = {{"messages", Json::array({{{"role", "user"}}})}, {"n", 3}};
  const auto printed = [&](std::string_view source) {
    const auto pieces = ChatTemplate::parse(source)->render(variables, 0);
    return pieces.ok() ? (pieces->empty() ? "" : pieces->front().text) : "error: " + pieces.error().message;
  };
  EXPECT_EQ(
      printed("{% set l = [1] %}{% set _ = l.append(2) %}{% set _ = l.extend([3, 4]) %}{% set _ = l.insert(0, 0) %}"
              "{% set _ = l.insert(-1, 9) %}{{ l.pop() }} {{ l.pop(0) }} {% set _ = l.remove(9) %}{{ l }}"),
      "4 0 [1, 2, 3]");
  EXPECT_EQ(printed("{% set l = [1, 2] %}{% set _ = l.reverse() %}{{ l }}{% set _ = l.clear() %}{{ l }}"), "[2, 1][]");
  EXPECT_EQ(
      printed("{% set d = {'a': 1} %}{% set _ = d.update({'b': 2}, c=3) %}{{ d.pop('a') }} {{ d.setdefault('b', 5) "
              "}} {{ d.setdefault('e', 6) }} {{ d.pop('x', 7) }} {{ d }}"),
      "1 2 6 7 {'b': 2, 'c': 3, 'e': 6}");
  EXPECT_EQ(printed("{% set l = messages[0:] %}{% set _ = l.append(1) %}{{ l | length }}{{ messages | length }}"),
            "21");
  for (const char* source :
       {"{{ messages.append(1) }}", "{{ messages.pop() }}", "{{ messages[0].update({'a': 1}) }}",
        "{{ messages[0].pop('role') }}", "{{ (1, 2).append(3) }}", "{% set l = [] %}{{ l.append(l) }}",
        "{% set l = [] %}{% set d = {'l': l} %}{{ l.append([d]) }}", "{% set d = {} %}{{ d.update({'d': d}) }}",
        "{% set d = {} %}{{ d.setdefault('d', [d]) }}", "{{ [].pop() }}", "{{ {}.pop('x') }}", "{{ [1].remove(2) }}",
        "{% set l = [1] %}{% for i in range(1000000) %}{% set _ = l.extend(l) %}{% endfor %}"}) {
    EXPECT_EQ(printed(source).substr(0, 6), "error:") << source << " " << printed(source);
  }
}

TEST(ChatTemplate, BoundsEndHostileTemplates) {
  for (const char* source :
       {"{% for i in range(100000) %}{% for j in range(100000) %}{{ i }}{% endfor %}{% endfor %}",
        "{{ 'x' * 10000000000 }}", "{{ range(10000000) }}", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% set ns = namespace(s='xxxxxxxx') %}{% for i in range(1000) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
        "{% set r = range(99999) %}{% for i in r %}{{ i in r }}{% endfor %}",
        "{% set r = range(99999) | list %}{% for i in r %}{{ r == r }}{% endfor %}",
        "{% set r = range(99999) | list %}{% for i in r %}{% set x = r | reverse | first %}{% endfor %}",
        "{{ ('a' * 100000) | replace('', 'b' * 100000) }}",
        "{{ range(99999) | list | tojson(separators=('b' * 100000, ':')) }}", "{{ ('a' * 60000000) | list | length }}",
        "{% set s = 'a' * 4000000 %}{% for i in range(99999) %}{% set x = s.rfind('a' * 200000 ~ 'b') %}{% endfor %}",
        "{% set s = 'a' * 4000000 %}{% for i in range(99999) %}{{ 'b' in s }}{{ s == s ~ '' }}{% endfor %}",
        "{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l == "
        "ns.l }}",
        "{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l }}"}) {
    const auto pieces = ChatTemplate::parse(source)->render(Json::object(), 0);
    ASSERT_FALSE(pieces.ok()) << source;
    EXPECT_EQ(pieces.error().code, ErrorCode::kUnsupported) << source;
  }
  for (const auto& [open, close] :
       {std::pair{"[", "]"}, {"(", ")"}, {"-", ""}, {"not ", ""}, {"1 if ", ""}, {"1 ~ ", ""}, {"1 | abs ~ ", ""}}) {
    std::string source = "{{ ";
    for (int i = 0; i < 10000; ++i) source += open;
    source += "1";
    for (int i = 0; i < 10000; ++i) source += close;
    EXPECT_NE(rendered(source + " }}").find("nested too deep"), std::string::npos) << open;
  }
}

// A long conversation, processed with operations that real templates apply to each message.
TEST(ChatTemplate, LongConversationsAreNoBombs) {
  Json messages = Json::array();
  for (int i = 0; i < 500; ++i) {
    messages.push_back({{"role", i % 2 == 0 ? "user" : "assistant"}, {"content", std::string(4000, 'a' + i % 26)}});
  }
  const std::string source =
      "{% for m in messages %}{% set c = m.content | trim %}{% if '</think>' in c %}{% set c = c.split('</think>')[-1]"
      ".lstrip('\n') %}{% endif %}{{ '<|' ~ m.role ~ '|>' + c.strip() + '\n' }}{{ c[:10] ~ c[-10:] }}"
      "{% if c.startswith('<tool>') and c.endswith('</tool>') %}{{ c | tojson }}{% endif %}{% endfor %}";
  EXPECT_EQ(rendered(source, {{"messages", messages}}).size(), 250u * (4000 + 20 + 9 + 4000 + 20 + 14));
  const Json one = {{"messages", {{{"role", "user"}, {"content", std::string(4'000'000, 'x')}}}}};
  EXPECT_EQ(rendered("{{ messages[0].content | trim }}{{ messages[0].content[:100] }}", one).size(), 4'000'100u);
}

TEST(ChatTemplate, ErrorsSayWhereAndWhat) {
  EXPECT_EQ(rendered("a\n{{ 1 + }}"), "chat template: line 2: expected an expression, actual ''");
  EXPECT_EQ(rendered("{% if x %}"), "chat template: line 1: expected 'endif', actual the end of the template");
  EXPECT_EQ(rendered("{{ x.y }}"), "chat template: 'x' is undefined");
  EXPECT_EQ(rendered("{{ 'a' | nope }}"), "chat template: no filter named 'nope'");
  EXPECT_EQ(rendered("{{ raise_exception('no such role') }}"), "chat template: no such role");
}

// Each template file is compared with its expected output, made by Jinja2 with Hugging Face's settings.
TEST(ChatTemplate, ConstructsPrintWhatJinja2Prints) {
  const Json data = Json::parse(read(std::string(RZ_SOURCE_DIR) + "/tests/data/jinja/cases.json"));
  ASSERT_GT(data["cases"].size(), 200u);
  for (const Json& one : data["cases"]) {
    const std::string source = one["template"];
    const auto parsed = ChatTemplate::parse(source);
    const auto pieces =
        parsed.ok() ? parsed->render(data["variables"], kClock) : Result<std::vector<PromptPiece>>(parsed.error());
    if (one.contains("error")) {
      EXPECT_FALSE(pieces.ok()) << source << " must fail: " << one["error"] << ", printed " << joined(*pieces);
    } else {
      EXPECT_EQ(pieces.ok() ? joined(*pieces) : pieces.error().message, one["expected"].get<std::string>()) << source;
    }
  }
}

}  // namespace
}  // namespace realizar::text
