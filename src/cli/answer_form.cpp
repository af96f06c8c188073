#include "cli/answer_form.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/printable.h"
#include "base/try.h"
#include "cli/user_json.h"
#include "grammar/grammar.h"

namespace realizar::cli {
namespace {

constexpr uint64_t kMaxSourceBytes = 1 << 20;
constexpr const char* kSpaces = " \t\r\n";

bool is_blank(const std::string& text) {
  return text.find_first_not_of(kSpaces) == std::string::npos;
}

// A form as given: as text, or in a file.
struct Source {
  std::string where, text;
};

Result<Source> read_source(const std::string& option, const std::string& given, bool is_text, const char* what) {
  if (is_blank(given)) return invalid_argument(fmt::format("{}: the text is empty: expected {}", option, what), option);
  if (is_text) return Source{option, given};
  const std::string where = fmt::format("{} {}", option, shown(given));
  auto text = read_file_or_pipe(given, kMaxSourceBytes);
  if (!text.ok()) {
    Error error = std::move(text).error();
    error.message = fmt::format("{}: {}; expected {}, or a file that has one", option, error.message, what);
    return error;
  }
  if (is_blank(*text)) return invalid_argument(fmt::format("{}: the file is empty: expected {}", where, what), option);
  return Source{where, std::move(*text)};
}

Error with_place(const std::string& where, Error error) {
  error.message = fmt::format("{}: {}", where, error.message);
  return error;
}

Result<std::optional<AnswerForm>> read_schema(const std::string& given) {
  const size_t first = given.find_first_not_of(kSpaces);
  const bool is_text = first != std::string::npos && given[first] == '{';
  RZ_TRY(Source source, read_source("--schema", given, is_text, "a JSON Schema, which begins with '{'"));
  RZ_TRY(const auto json, parse_json_text(source.text, source.where));
  if (!json.is_object()) {
    return invalid_argument(
        fmt::format("{}: expected a JSON Schema, which is an object, actual {}", source.where, json.type_name()),
        "--schema");
  }
  if (auto grammar = grammar::Grammar::from_json_schema(source.text); !grammar.ok()) {
    return with_place(source.where, std::move(grammar).error());
  }
  return std::optional(AnswerForm{AnswerForm::Kind::kSchema, std::move(source.text)});
}

Result<std::optional<AnswerForm>> read_grammar(const std::string& given) {
  const bool is_text = given.find("::=") != std::string::npos;
  RZ_TRY(Source source,
         read_source("--grammar", given, is_text, "a grammar in GBNF, such as root ::= \"yes\" | \"no\""));
  if (auto grammar = grammar::Grammar::from_gbnf(source.text); !grammar.ok()) {
    return with_place(source.where, std::move(grammar).error());
  }
  return std::optional(AnswerForm{AnswerForm::Kind::kGrammar, std::move(source.text)});
}

}  // namespace

AnswerForm json_form() {
  return {AnswerForm::Kind::kSchema, R"({"type":"object"})"};
}

Result<std::shared_ptr<TokenConstraint>> constraint_of(const LanguageModel& model, const AnswerForm& form,
                                                       std::span<const TokenId> prompt) {
  const ConstraintOptions options{.prompt = prompt};
  return form.kind == AnswerForm::Kind::kSchema ? json_schema_constraint(model, form.source, options)
                                                : gbnf_constraint(model, form.source, options);
}

void FormFlags::add_to(Flags flags) {
  flags.advanced().option("--format", format_, "Answer in this form: json, which is any JSON object",
                          {.one_of = {"json"}, .shown_as = "FORM"});
  flags.option("--schema", schema_, "Answer with JSON of this schema: a file or a text",
               {.shown_as = "FILE|TEXT", .takes = kFile});
  flags.advanced().option("--grammar", grammar_,
                          "Answer with a sentence of this grammar in GBNF: a file, or the grammar itself",
                          {.shown_as = "FILE|TEXT", .takes = kFile});
}

std::string FormFlags::complaint() const {
  const int n_given = format_.has_value() + schema_.has_value() + grammar_.has_value();
  return n_given > 1 ? "expected one of --format, --schema and --grammar" : "";
}

Result<std::optional<AnswerForm>> FormFlags::read() const {
  if (schema_) return read_schema(*schema_);
  if (grammar_) return read_grammar(*grammar_);
  return format_ ? std::optional(json_form()) : std::optional<AnswerForm>();
}

}  // namespace realizar::cli
