#include "text/ollama_template.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace realizar::text {
namespace {

using Json = nlohmann::ordered_json;

const Json kTurns = Json::parse(R"([{"role": "system", "content": "S"}, {"role": "user", "content": "U"},
    {"role": "assistant", "content": "A"}, {"role": "user", "content": "V"}])");

std::string go_rendered(const std::string& source, Json variables = {{"messages", kTurns}}) {
  const auto compiled = compile_ollama_template(source);
  if (!compiled.ok()) return "error: " + compiled.error().message;
  const auto pieces = (*compiled)->render(variables, 0);
  if (!pieces.ok()) return "error: " + pieces.error().message;
  std::string text;
  for (const PromptPiece& piece : *pieces) text += piece.text;
  return text;
}

// The expected prompts are the output of Go's text/template for these templates, with Ollama's rules for turns.
TEST(OllamaTemplate, OneTurnIsRepeatedAndEndsWhereTheAnswerBegins) {
  const std::string source =
      "{{ if .System }}<|im_start|>system\n{{ .System }}<|im_end|>\n{{ end }}"
      "{{ if .Prompt }}<|im_start|>user\n{{ .Prompt }}<|im_end|>\n{{ end }}"
      "<|im_start|>assistant\n{{ .Response }}<|im_end|>\n";
  EXPECT_EQ(go_rendered(source),
            "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\nA<|im_end|>\n"
            "<|im_start|>user\nV<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(go_rendered("[INST] {{ .System }} {{ .Prompt }} [/INST]"), "[INST] S U [/INST]A[INST]  V [/INST]");
}

TEST(OllamaTemplate, MessagesAreGoneOver) {
  EXPECT_EQ(go_rendered(R"({{- range $i, $_ := .Messages }}
{{- $last := eq (len (slice $.Messages $i)) 1 -}}
<{{ .Role }}>{{ .Content }}{{ if not $last }}|{{ end }}
{{- end }}<assistant>)"),
            "<system>S|<user>U|<assistant>A|<user>V<assistant>");
  EXPECT_EQ(
      go_rendered(
          R"({{ range .Messages }}{{ if eq .Role "user" }}U:{{ .Content }};{{ else if eq .Role "assistant" }}A:{{ .Content }};{{ else }}-{{ end }}{{ end }}{{ .System }})"),
      "-U:U;A:A;U:V;S");
  EXPECT_EQ(
      go_rendered(
          R"({{ range .Messages }}{{ if and (ne .Role "system") (or (eq .Role "x" "user") false) }}{{ .Content }}{{ end }}{{ end }})"),
      "UV");
}

TEST(OllamaTemplate, TrimMarksAndCommentsAreGos) {
  EXPECT_EQ(go_rendered("a \n {{- /* note */ -}} \n b{{ \"c\\n\" }}\nd{{ range .Messages }}{{ end }}"), "abc\n\nd");
  EXPECT_EQ(go_rendered("{{ range .Messages }} {{- .Role -}} \n{{ end }}"), "systemuserassistantuser");
  EXPECT_EQ(go_rendered("it's a \\ back{{ range .Messages }}{{ end }}"), "it's a \\ back");
}

TEST(OllamaTemplate, WhatUsersWriteStaysInput) {
  const auto compiled = compile_ollama_template("<|im_start|>{{ .Prompt }}<|im_end|>");
  ASSERT_TRUE(compiled.ok());
  const auto pieces = (*compiled)->render({{"messages", {{{"role", "user"}, {"content", "<|im_end|>"}}}}}, 0);
  ASSERT_TRUE(pieces.ok());
  ASSERT_EQ(pieces->size(), 3u);
  EXPECT_FALSE((*pieces)[0].is_input);
  EXPECT_TRUE((*pieces)[1].is_input);
  EXPECT_FALSE((*pieces)[2].is_input);
}

TEST(OllamaTemplate, JinjaIsTakenToo) {
  EXPECT_EQ(go_rendered("{% for m in messages %}{{ m.role }};{% endfor %}"), "system;user;assistant;user;");
}

const Json kCalledMessages = Json::parse(R"([{"role": "user", "content": "U"},
    {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {"b": 1, "a": "<&>"}}}]},
    {"role": "tool", "name": "f", "content": "42"}])");
const Json kOfferedTools =
    Json::parse(R"([{"type": "function", "function": {"name": "f", "description": "F.", "parameters":
    {"type": "object", "required": ["z", "a"], "properties": {"z": {"type": "array"}, "a": {"type": "integer"},
     "m": {"type": ["string", "null"]}, "any": {"anyOf": [{"type": "object"}, {"type": "boolean"}]}}}}},
    {"type": "function", "function": {"name": "g"}}])");

TEST(OllamaTemplate, VariablesAreDeclaredAndAssigned) {
  EXPECT_EQ(go_rendered(R"({{ $s := "" }}{{ range .Messages }}{{ if eq .Role "system" }}{{ $s = .Content }}
{{- else if $s }}[{{ $s }}]{{ $s = "" }}{{ end }}{{ .Role }};{{ end }}<{{ $s }}>)"),
            "system;[S]user;assistant;user;<>");
  EXPECT_EQ(go_rendered("{{ $x := 1 }}{{ if true }}{{ $x := 2 }}{{ $x = 3 }}{{ $x }}{{ end }}{{ $x }}"
                        "{{range .Messages}}{{$x = .Role}}{{ end }}{{ $x }}"),
            "31user");
  EXPECT_EQ(go_rendered(R"({{ $last := -1 }}{{ range $i, $m := .Messages }}{{ if eq $m.Role "user" }}{{ $last = $i }}
{{- end }}{{ end }}{{ $last }}{{ (index .Messages $last).Content }}{{ if $n := len .Messages }}{{ $n }}{{ end }})"),
            "3V4");
}

TEST(OllamaTemplate, RangesBreakAndContinue) {
  EXPECT_EQ(go_rendered(R"({{ range .Messages }}{{ if eq .Role "system" }}{{ continue }}{{ end }}{{ .Content }}
{{- if eq .Role "assistant" }}{{ break }}{{ end }}{{ end }}.)"),
            "UA.");
  EXPECT_EQ(go_rendered("{{ range $i, $m := .Messages }}{{ range $j, $n := $.Messages }}{{ if gt $j $i }}{{ break }}"
                        "{{ end }}{{ $n.Content }}{{ end }},{{ else }}none{{ end }}"),
            "S,SU,SUA,SUAV,");
  EXPECT_EQ(go_rendered("{{ range .Messages }}x{{ else }}none{{ end }}", {{"messages", Json::array()}}), "none");
}

TEST(OllamaTemplate, WithChangesTheDot) {
  EXPECT_EQ(go_rendered("{{ with .System }}<{{ . }}>{{ end }}{{ with $n := len .Messages }}{{ $n }}{{ . }}{{ end }}"
                        "{{ range .Messages }}{{ with .Thinking }}{{ . }}{{ else }}{{ .Role }},{{ end }}{{ end }}"),
            "<S>44system,user,assistant,user,");
}

TEST(OllamaTemplate, FunctionsAreGosAndOllamas) {
  EXPECT_EQ(
      go_rendered(R"({{ printf "%s|%d|%v|%t|%q|%%" .System 3 .System true "a\"b" }}{{ range .Messages }}{{ end }})"),
      R"(S|3|S|true|"a\"b"|%)");
  EXPECT_EQ(go_rendered(R"({{ .System | printf "%s!" | printf "<%s>" }}{{ len .Messages }}{{ eq 1 1 }}{{ not true }})"),
            "<S!>4truefalse");
  EXPECT_EQ(
      go_rendered("{{ currentDate }} {{ yesterdayDate }}{{ printf \"%s\" currentDate }}{{ range .Messages }}{{ end }}"),
      "1970-01-01 1969-12-311970-01-01");
  EXPECT_EQ(
      go_rendered(
          R"({{ print "a" 1 2 "b" .System true }}|{{ println "a" 1 }}|{{ print }}{{ range .Messages }}{{ end }})"),
      "a1 2bStrue|a 1\n|");
}

TEST(OllamaTemplate, ValuesArePrintedAsGoPrintsThem) {
  const Json variables = {{"messages", kCalledMessages}, {"tools", kOfferedTools}};
  EXPECT_EQ(go_rendered(R"({{ range .Messages }}{{ range .ToolCalls }}{{ .Function.Name }}{{ .Function.Arguments }}
{{- range $k, $v := .Function.Arguments }} {{ $k }}={{ $v }}{{ end }};{{ end }}{{ .ToolName }}{{ end }})",
                        variables),
            R"(f{"b":1,"a":"\u003c\u0026\u003e"} a=<&> b=1;f)");
  EXPECT_EQ(
      go_rendered("{{ range .Messages }}{{ end }}{{ range .Tools }}{{ .Function.Name }}{{ .Function.Description }}"
                  "{{ .Function.Parameters.Required }}{{ range $name, $p := .Function.Parameters.Properties }}"
                  " {{ $name }}: {{ $p | toTypeScriptType }}{{ else }} nothing{{ end }};{{ end }}",
                  variables),
      "fF.[z a] a: number any: Record<string, any> | boolean m: string | null z: any[];g[] nothing;");
}

// If a message has no such field, Go uses the zero value of its type.
TEST(OllamaTemplate, FieldsThatAreNotThereAreEmpty) {
  EXPECT_EQ(go_rendered("{{ range .Messages }}{{ if ne .Thinking \"\" }}t{{ end }}{{ len .ToolCalls }}{{ .ToolName }}"
                        "{{ .Content }}{{ end }}{{ .Think }}{{ .ThinkLevel }}",
                        {{"messages", kCalledMessages}}),
            "0U10f42false");
}

TEST(OllamaTemplate, BracesAndQuotesMayStandInTexts) {
  EXPECT_EQ(
      go_rendered("{{ \"}}\" }}{{ `{{ a }}` }}{{/* }} no */}}{{ \"\\u00e9\\t\\\\\" }}{{- \"x\" -}}  y {{3}} {{-3}}"
                  "{{ 1.5 }} }}{{range .Messages}}{{end}}"),
      "}}{{ a }}\xc3\xa9\t\\xy 3 -31.5 }}");
  EXPECT_EQ(go_rendered("a\r\nb{{ range .Messages }}{{ end }}"), "a\r\nb");
}

TEST(OllamaTemplate, RefusesByName) {
  for (const auto& [source, word] : {std::pair{"{{ template \"x\" . }}", "'template'"},
                                     {"{{ $x = 1 }}", "'$x'"},
                                     {"{{ if .Prompt }}{{ $x := 1 }}{{ end }}{{ $x }}", "'$x'"},
                                     {"{{ $x, $y := .Prompt }}", "'range'"},
                                     {"{{ if .Prompt }}{{ break }}{{ end }}", "'break'"},
                                     {"{{ continue }}", "'continue'"},
                                     {"{{ with .Prompt }}{{ else if .System }}{{ end }}", "'else if .System'"},
                                     {"{{ printf .Prompt }}", "'printf'"},
                                     {"{{ printf \"%x\" .Prompt }}", "'%x'"},
                                     {"{{ printf \"%s\" }}", "'%s'"},
                                     {"{{ printf \"a\" .Prompt }}", "'printf'"},
                                     {"{{ \"\\ud800\" }}", "escape"},
                                     {"{{ \"}} }}", "not closed"},
                                     {"{{ .Nothing }}", ".Nothing"},
                                     {"{{ range .Messages }}{{ .Colour }}{{ end }}", ".Colour"},
                                     {"{{ if .Prompt }}", "'end'"},
                                     {"{{ end }}", "'end'"},
                                     {"{{ .Prompt", "not closed"},
                                     {"{% for x in %}", "template: "}}) {
    const auto compiled = compile_ollama_template(source);
    ASSERT_FALSE(compiled.ok()) << source;
    EXPECT_EQ(compiled.error().subject, "template");
    EXPECT_NE(compiled.error().message.find(word), std::string::npos) << compiled.error().message;
  }
  EXPECT_FALSE(compile_ollama_template("{{ " + std::string(100'000, '(') + " }}").ok());
  for (const char* part : {".ID", " | json", " | or 1", "(.ID)"}) {
    std::string deep = "{{ .Prompt";
    while (deep.size() < 200'000) deep += part;
    EXPECT_FALSE(compile_ollama_template(deep + " }}").ok()) << part;
  }
}

}  // namespace
}  // namespace realizar::text
