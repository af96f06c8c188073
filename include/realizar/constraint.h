// Constrained answers: a document that matches a JSON Schema, or a sentence of a grammar.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "realizar/request.h"
#include "realizar/result.h"
#include "realizar/types.h"

namespace realizar {

class LanguageModel;

struct ConstraintOptions {
  // Drops the parts of a schema that no grammar can enforce, instead of refusing the schema: the answer may then
  // violate it, and TokenConstraint::left_out() lists these parts.
  bool relaxed = false;
  // The request's prompt. If it is set, a model whose chat template marks reasoning reasons freely before the
  // constraint begins, and cannot end its turn while reasoning; otherwise the constraint begins with the first token.
  std::span<const TokenId> prompt = {};
};

struct ToolCallOptions {
  bool parallel = true;                  // false: exactly one call
  std::span<const TokenId> prompt = {};  // as in ConstraintOptions
};

// Create values for Request::constraint. Each request needs its own: clone() makes more, and a source that was compiled
// before is not compiled again. Any thread; `model` must outlive the result. Errors: Unsupported if the model file has
// no tokenizer, or for a keyword of a schema, with its location; InvalidArgument for a malformed source.
Result<std::shared_ptr<TokenConstraint>> json_schema_constraint(const LanguageModel& model,
                                                                const std::string& schema_json,
                                                                const ConstraintOptions& options = {});
Result<std::shared_ptr<TokenConstraint>> gbnf_constraint(const LanguageModel& model, const std::string& gbnf,
                                                         const ConstraintOptions& options = {});
// The answer calls tools of `tools_json` (as in TextOptions), and contains nothing else after its reasoning. Errors:
// InvalidArgument for an invalid list of tools, naming the field; Unsupported if the model's chat format cannot require
// calls.
Result<std::shared_ptr<TokenConstraint>> tool_calls_constraint(const LanguageModel& model,
                                                               const std::string& tools_json,
                                                               const ToolCallOptions& options = {});

}  // namespace realizar
