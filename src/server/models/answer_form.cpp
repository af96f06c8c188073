#include "server/models/answer_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "base/try.h"
#include "grammar/pattern.h"
#include "grammar/rule_book.h"

namespace realizar::server {
namespace {

using FormKind = AnswerForm::Kind;

struct FormField {
  const char* name;
  Result<AnswerForm> (*read)(const Json& value, const std::string& where);
};

// vLLM's clients also send a schema as text.
Result<AnswerForm> read_schema(const Json& schema, const std::string& where) {
  if (schema.is_object()) return AnswerForm{FormKind::kSchema, dump(schema), where};
  if (!schema.is_string()) return wrong(where, "expected a JSON Schema");
  const auto parsed = parse_json(schema.get_ref<const std::string&>());
  if (!parsed.ok() || !parsed->is_object()) return wrong(where, "expected a JSON Schema");
  return AnswerForm{FormKind::kSchema, dump(*parsed), where};
}

Result<AnswerForm> read_object_flag(const Json& flag, const std::string& where) {
  if (!flag.is_boolean()) return wrong(where, "expected a boolean");
  if (!flag.get<bool>()) return AnswerForm{};
  return AnswerForm{FormKind::kSchema, R"({"type":"object"})", where};
}

Result<AnswerForm> read_gbnf(const Json& gbnf, const std::string& where) {
  if (!gbnf.is_string()) return wrong(where, fmt::format("expected a string, actual {}", gbnf.type_name()));
  return AnswerForm{FormKind::kGrammar, gbnf.get<std::string>(), where};
}

Result<AnswerForm> read_regex(const Json& regex, const std::string& where) {
  if (!regex.is_string()) return wrong(where, fmt::format("expected a string, actual {}", regex.type_name()));
  grammar::RuleBook tried;
  const auto& text = regex.get_ref<const std::string&>();
  RZ_TRY([[maybe_unused]] const grammar::ExprId whole, grammar::regex_in_text(tried, text, where));
  return AnswerForm{FormKind::kRegex, text, where};
}

Result<AnswerForm> read_choice(const Json& choices, const std::string& where) {
  if (!choices.is_array() || choices.empty()) return wrong(where, "expected an array of strings");
  const bool is_texts = std::ranges::all_of(choices, [](const Json& choice) { return choice.is_string(); });
  if (!is_texts) return wrong(where, "expected an array of strings");
  return AnswerForm{FormKind::kChoice, dump(choices), where};
}

Result<AnswerForm> refuse_tags(const Json&, const std::string& where) {
  return Error{unsupported(where + ": structural tags are not built", where)};
}

// The form that a field of `object` requests; more than one, including `form`, is an error.
Result<AnswerForm> read_one_of(const Json& object, const std::string& prefix, std::span<const FormField> fields,
                               AnswerForm form = {}) {
  for (const FormField& field : fields) {
    const auto value = object.find(field.name);
    if (value == object.end() || value->is_null()) continue;
    RZ_TRY(AnswerForm asked, field.read(*value, prefix + field.name));
    if (asked.kind == FormKind::kFree) continue;
    if (form.kind != FormKind::kFree) return wrong(asked.where, "cannot be given together with " + form.where);
    form = std::move(asked);
  }
  return form;
}

Result<AnswerForm> read_structured_outputs(const Json& outputs, const std::string& where) {
  static constexpr FormField kFields[] = {{"json", read_schema},
                                          {"regex", read_regex},
                                          {"choice", read_choice},
                                          {"grammar", read_gbnf},
                                          {"json_object", read_object_flag},
                                          {"structural_tag", refuse_tags}};
  if (!outputs.is_object()) return wrong(where, fmt::format("expected an object, actual {}", outputs.type_name()));
  return read_one_of(outputs, where + ".", kFields);
}

// Text Generation Inference's {type, value}; a text is GBNF.
Result<AnswerForm> read_grammar(const Json& grammar, const std::string& where) {
  return grammar.is_object() ? read_response_form(grammar, where) : read_gbnf(grammar, where);
}

// The first one is the one that dialects with fields of their own replace; `regex` and the following ones are SGLang's.
constexpr FormField kFormFields[] = {{"response_format", read_response_form},
                                     {"grammar", read_grammar},
                                     {"json_schema", read_schema},
                                     {"structured_outputs", read_structured_outputs},
                                     {"guided_json", read_schema},
                                     {"guided_regex", read_regex},
                                     {"guided_choice", read_choice},
                                     {"guided_grammar", read_gbnf},
                                     {"guided_json_object", read_object_flag},
                                     {"regex", read_regex},
                                     {"ebnf", read_gbnf},
                                     {"structural_tag", refuse_tags}};

using Compiled = Result<std::shared_ptr<const grammar::Grammar>>;

Compiled of_schema(const AnswerForm& form) {
  auto grammar = grammar::Grammar::from_json_schema(form.source, {}, {.relaxed = !form.is_strict});
  if (grammar.ok()) return grammar;
  const Error& error = grammar.error();
  // The keyword's path in the schema, "#/properties/...", follows the schema's path in the body.
  const bool has_place = error.subject.starts_with('#');
  return Error{error.code, error.message, form.where + (has_place ? error.subject : std::string())};
}

Result<grammar::ExprId> root_of(const AnswerForm& form, grammar::RuleBook& book) {
  if (form.kind == FormKind::kRegex) return grammar::regex_in_text(book, form.source, form.where);
  RZ_TRY(const Json choices, parse_json(form.source));
  std::vector<grammar::ExprId> options;
  for (const Json& choice : choices) options.push_back(book.literal(choice.get_ref<const std::string&>()));
  return book.choice(options);
}

Compiled of_rules(const AnswerForm& form) {
  grammar::RuleBook book;
  const grammar::RuleId root = book.named("root");
  RZ_TRY(const grammar::ExprId body, root_of(form, book));
  book.define(root, body);
  return grammar::Grammar::from_rules(book.take(root));
}

}  // namespace

Result<AnswerForm> read_named_schema(const Json& named, const std::string& where) {
  if (!named.is_object()) return wrong(where + ".schema", "expected a JSON Schema");
  Fields fields(named, where + ".");
  const bool is_strict = fields.boolean("strict").value_or(false);
  if (!fields.status().ok()) return fields.status().error();
  RZ_TRY(AnswerForm form, read_schema(named.value("schema", Json()), where + ".schema"));
  form.is_strict = is_strict;
  return form;
}

Result<AnswerForm> read_response_form(const Json& format, const std::string& where) {
  if (!format.is_object()) return wrong(where, fmt::format("expected an object, actual {}", format.type_name()));
  const Json type = format.value("type", Json());
  if (type == "text") return AnswerForm{};
  const Json own = format.value("schema", Json());
  if (type == "json_object") {
    return own.is_null() ? read_object_flag(true, where) : read_schema(own, where + ".schema");
  }
  // Text Generation Inference's.
  if (type == "json") return read_schema(format.value("value", Json()), where + ".value");
  if (type == "regex") return read_regex(format.value("value", Json()), where + ".value");
  if (type != "json_schema") return wrong(where + ".type", "expected text, json_object, json_schema, json or regex");
  if (!own.is_null() && !format.contains("json_schema")) return read_schema(own, where + ".schema");
  return read_named_schema(format.value("json_schema", Json()), where + ".json_schema");
}

Result<AnswerForm> read_answer_form(const Json& body, std::optional<AnswerForm> own) {
  const std::span<const FormField> fields(kFormFields);
  return read_one_of(body, "", own ? fields.subspan(1) : fields, std::move(own).value_or(AnswerForm{}));
}

KnownFields form_fields() {
  KnownFields known;
  for (const FormField& field : kFormFields) known.push_back({field.name, true});
  return known;
}

Compiled grammar_of(const AnswerForm& form) {
  if (form.kind == FormKind::kSchema) return of_schema(form);
  auto grammar = form.kind == FormKind::kGrammar ? grammar::Grammar::from_gbnf(form.source) : of_rules(form);
  if (grammar.ok()) return grammar;
  return invalid_argument(form.where + ": " + grammar.error().message, form.where);
}

Result<std::shared_ptr<grammar::MaskCache>> masks_of(const AnswerForm& form, GrammarCache& grammars) {
  if (form.kind == AnswerForm::Kind::kFree) return std::shared_ptr<grammar::MaskCache>();
  const std::string key = fmt::format("form {} {} {}", static_cast<int>(form.kind), form.is_strict, form.source);
  return grammars.find_or_compile(key, [&] { return grammar_of(form); });
}

}  // namespace realizar::server
