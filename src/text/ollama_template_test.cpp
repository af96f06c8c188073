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

// The expected prompts are what Go's text/template gives for these templates, with Ollama's rules for turns.
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

TEST(OllamaTemplate, RefusesByName) {
  for (const auto& [source, word] : {std::pair{"{{ with .System }}x{{ end }}", "'with'"},
                                     {"{{ .Nothing }}", ".Nothing"},
                                     {"{{ range .Messages }}{{ .Colour }}{{ end }}", ".Colour"},
                                     {"{{ printf \"%s\" .Prompt }}", "printf"},
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
}

}  // namespace
}  // namespace realizar::text
