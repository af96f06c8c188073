// Grammars of required tool calls, in the model's own form.
#pragma once

#include <span>
#include <string_view>

#include "grammar/expression.h"
#include "realizar/result.h"
#include "text/output/output_format.h"
#include "text/output/tool_spec.h"

namespace realizar::text {

// A tool that the model may be required to call.
struct RequiredTool {
  const ToolSpec* spec;
  std::string place;  // of its parameters, e.g. "tools[2].function.parameters"; for messages
  bool is_strict;     // its whole schema is enforced; otherwise parts that no grammar can enforce are dropped
  // The grammar of its only argument, a text; null: the schema applies.
  const grammar::RuleSet* input = nullptr;
};

// The rules of one or more calls (exactly one unless `parallel`) of the tools, of which there is at least one. Errors,
// each naming the field: Unsupported if no grammar can enforce a strict tool's schema; InvalidArgument for malformed
// schemas.
Result<grammar::RuleSet> required_calls(const CallForm& form, std::span<const RequiredTool> tools, bool parallel);

// Whether voluntary calls can be recognized in the model's text as they begin, which optional_calls() requires.
bool has_optional_calls(const OutputFormat& format);
// The rules of text followed by any number of calls (at most one unless `parallel`). The text contains none of the
// marks with which calls begin. Only tools with an `input` are constrained by it: calls of others must just be
// parseable.
Result<grammar::RuleSet> optional_calls(const CallForm& form, std::span<const RequiredTool> tools, bool parallel);

}  // namespace realizar::text
