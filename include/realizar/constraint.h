// Answers that are held to a form: a document of a JSON Schema, or a sentence of a grammar.
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
  // Leaves out what no grammar can hold of a schema, instead of refusing it: the answer may then be wider than it, and
  // TokenConstraint::left_out() says where.
  bool relaxed = false;
  // The request's prompt. Where it is given, a model whose chat template marks reasoning reasons freely before the form
  // begins, and cannot end its turn in that; without it the form begins with the first token.
  std::span<const TokenId> prompt = {};
};

struct ToolCallOptions {
  bool parallel = true;                  // false: exactly one call
  std::span<const TokenId> prompt = {};  // as of ConstraintOptions
};

// Make what Request::constraint takes. Each request needs one of its own: clone() makes more, and a source that was
// compiled before is not compiled again. Any thread; `model` must outlive what they give. Errors: Unsupported where the
// model file has no tokenizer; InvalidArgument for a source that is none, Unsupported for a keyword of a schema, by its
// place.
Result<std::shared_ptr<TokenConstraint>> json_schema_constraint(const LanguageModel& model,
                                                                const std::string& schema_json,
                                                                const ConstraintOptions& options = {});
Result<std::shared_ptr<TokenConstraint>> gbnf_constraint(const LanguageModel& model, const std::string& gbnf,
                                                         const ConstraintOptions& options = {});
// The answer calls tools of `tools_json`, which TextOptions has too, and says nothing else after its reasoning. Errors:
// InvalidArgument for what is no list of tools, naming the field; Unsupported where the calls of the model's chat
// format cannot be required.
Result<std::shared_ptr<TokenConstraint>> tool_calls_constraint(const LanguageModel& model,
                                                               const std::string& tools_json,
                                                               const ToolCallOptions& options = {});

}  // namespace realizar
