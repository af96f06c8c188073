// Constraints on answers: --format, --schema and --grammar.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "cli/flags.h"
#include "realizar/constraint.h"
#include "realizar/result.h"

namespace realizar::cli {

struct AnswerForm {
  enum class Kind : uint8_t { kSchema, kGrammar };
  Kind kind;
  std::string source;  // the JSON Schema, or the grammar in GBNF

  bool operator==(const AnswerForm&) const = default;
};

// Any JSON object.
AnswerForm json_form();

// A constraint for Request::constraint. `prompt`: as in ConstraintOptions. Errors: those of the constraint.
Result<std::shared_ptr<TokenConstraint>> constraint_of(const LanguageModel& model, const AnswerForm& form,
                                                       std::span<const TokenId> prompt);

struct FormFlags {
  void add_to(Flags flags);
  bool is_given() const { return format_ || schema_ || grammar_; }
  // Reports options that exclude each other; empty if there are none.
  std::string complaint() const;
  // Needs no model. Errors: NotFound, FormatError, InvalidArgument and Unsupported, naming the option and the position.
  Result<std::optional<AnswerForm>> read() const;

 private:
  std::optional<std::string> format_, schema_, grammar_;
};

}  // namespace realizar::cli
