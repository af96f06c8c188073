#include "server/models/answer_form.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "grammar/matcher.h"

namespace realizar::server {
namespace {

using Kind = AnswerForm::Kind;

AnswerForm form_of(const std::string& body) {
  const auto form = read_answer_form(*parse_json(body));
  EXPECT_TRUE(form.ok()) << body << ": " << form.error().message;
  return form.ok() ? *form : AnswerForm{};
}

std::string wrong_field(const std::string& body) {
  const auto form = read_answer_form(*parse_json(body));
  return form.ok() ? "none" : form.error().subject;
}

bool takes(const AnswerForm& form, const std::string& text) {
  const auto grammar = grammar_of(form);
  EXPECT_TRUE(grammar.ok()) << form.source;
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  const auto trie = std::make_shared<grammar::TokenTrie>(tokens);
  grammar::Matcher matcher(std::make_shared<grammar::MaskCache>(*grammar, trie));
  return matcher.accept_bytes(text) && matcher.is_complete();
}

TEST(AnswerForm, IsFreeWhereNothingIsAsked) {
  for (const char* body :
       {"{}", R"({"response_format": {"type": "text"}})", R"({"grammar": null, "json_schema": null})",
        R"({"structured_outputs": {}})", R"({"structured_outputs": {"json_object": false, "regex": null}})"}) {
    EXPECT_EQ(form_of(body).kind, Kind::kFree) << body;
  }
}

TEST(AnswerForm, TheSchemaStandsInManyPlaces) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"json_schema": {"type": "integer"}})", "json_schema"},
      {R"({"guided_json": {"type": "integer"}})", "guided_json"},
      {R"({"guided_json": "{\"type\": \"integer\"}"})", "guided_json"},
      {R"({"structured_outputs": {"json": {"type": "integer"}}})", "structured_outputs.json"},
      {R"({"response_format": {"type": "json_object", "schema": {"type": "integer"}}})", "response_format.schema"},
      {R"({"response_format": {"type": "json_schema", "schema": {"type": "integer"}}})", "response_format.schema"},
      {R"({"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "integer"}}}})",
       "response_format.json_schema.schema"},
      {R"({"response_format": {"type": "json", "value": {"type": "integer"}}})", "response_format.value"},
      {R"({"grammar": {"type": "json", "value": {"type": "integer"}}})", "grammar.value"},
      {R"({"response_format": {"type": "text"}, "json_schema": {"type": "integer"}})", "json_schema"},
  };
  for (const auto& [body, where] : cases) {
    const AnswerForm form = form_of(body);
    EXPECT_EQ(form.kind, Kind::kSchema) << body;
    EXPECT_EQ(form.source, R"({"type":"integer"})") << body;
    EXPECT_EQ(form.where, where);
  }
  for (const char* body : {R"({"response_format": {"type": "json_object"}})", R"({"guided_json_object": true})",
                           R"({"structured_outputs": {"json_object": true}})"}) {
    EXPECT_EQ(form_of(body).source, R"({"type":"object"})") << body;
  }
}

TEST(AnswerForm, IsStrictWhereItsSchemaSaysSo) {
  const std::string begin = R"({"response_format": {"type": "json_schema", "json_schema": {"schema": {}, "strict": )";
  EXPECT_TRUE(form_of(begin + "true}}}").is_strict);
  EXPECT_FALSE(form_of(begin + "null}}}").is_strict);
  EXPECT_EQ(wrong_field(begin + "1}}}"), "response_format.json_schema.strict");
  EXPECT_FALSE(form_of(R"({"guided_json": {}})").is_strict);
}

TEST(AnswerForm, GrammarsAreTakenAsTheyAre) {
  for (const char* body :
       {R"({"grammar": "root ::= \"a\""})", R"({"guided_grammar": "root ::= \"a\""})", R"({"ebnf": "root ::= \"a\""})",
        R"({"structured_outputs": {"grammar": "root ::= \"a\""}})"}) {
    EXPECT_EQ(form_of(body).kind, Kind::kGrammar) << body;
    EXPECT_EQ(form_of(body).source, "root ::= \"a\"") << body;
  }
}

TEST(AnswerForm, AChoiceIsOneOfItsTexts) {
  for (const char* body :
       {R"({"guided_choice": ["yes", "no \"\\\n"]})", R"({"structured_outputs": {"choice": ["yes", "no \"\\\n"]}})"}) {
    const AnswerForm form = form_of(body);
    EXPECT_TRUE(takes(form, "yes"));
    EXPECT_TRUE(takes(form, "no \"\\\n"));
    for (const char* other : {"y", "yesno \"\\\n", "no"}) EXPECT_FALSE(takes(form, other)) << other;
  }
}

TEST(AnswerForm, ARegularExpressionIsMatchedWhole) {
  for (const char* body : {R"({"guided_regex": "[a-z]+\\d{2}|\"x\""})", R"({"regex": "[a-z]+\\d{2}|\"x\""})",
                           R"({"grammar": {"type": "regex", "value": "[a-z]+\\d{2}|\"x\""}})",
                           R"({"response_format": {"type": "regex", "value": "[a-z]+\\d{2}|\"x\""}})",
                           R"({"structured_outputs": {"regex": "^[a-z]+\\d{2}$|^\"x\"$"}})"}) {
    const AnswerForm form = form_of(body);
    for (const char* text : {"a12", "abc00", "\"x\""}) EXPECT_TRUE(takes(form, text)) << text;
    for (const char* text : {"12", "a1", "a123", " a12", "x", "a12\"x\""}) EXPECT_FALSE(takes(form, text)) << text;
  }
}

TEST(AnswerForm, WrongOnesAreNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"grammar": 5})", "grammar"},
      {R"({"response_format": "json"})", "response_format"},
      {R"({"response_format": {"type": "yaml"}})", "response_format.type"},
      {R"({"response_format": {"type": "json"}})", "response_format.value"},
      {R"({"grammar": {"type": "regex", "value": 5}})", "grammar.value"},
      {R"({"structural_tag": "x"})", "structural_tag"},
      {R"({"response_format": {"type": "json_schema"}})", "response_format.json_schema.schema"},
      {R"({"json_schema": []})", "json_schema"},
      {R"({"guided_json": "{"})", "guided_json"},
      {R"({"guided_choice": []})", "guided_choice"},
      {R"({"guided_choice": ["a", 1]})", "guided_choice"},
      {R"({"guided_regex": "("})", "guided_regex"},
      {R"x({"guided_regex": "(?=a)"})x", "guided_regex"},
      {R"({"guided_json_object": 1})", "guided_json_object"},
      {R"({"structured_outputs": "json"})", "structured_outputs"},
      {R"({"structured_outputs": {"structural_tag": "x"}})", "structured_outputs.structural_tag"},
      {R"({"structured_outputs": {"regex": "a", "choice": ["b"]}})", "structured_outputs.choice"},
      {R"({"grammar": "root ::= \"a\"", "response_format": {"type": "json_object"}})", "grammar"},
      {R"({"guided_regex": "a", "guided_choice": ["b"]})", "guided_choice"},
  };
  for (const auto& [body, field] : cases) EXPECT_EQ(wrong_field(body), field) << body;
}

}  // namespace
}  // namespace realizar::server
