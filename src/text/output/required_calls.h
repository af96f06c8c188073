// The grammars of required tool calls, in the form in which the model writes them.
#pragma once

#include <span>
#include <string_view>

#include "grammar/expression.h"
#include "realizar/result.h"
#include "text/output/output_format.h"
#include "text/output/tool_spec.h"

namespace realizar::text {

// A tool of which a call may be required.
struct RequiredTool {
  const ToolSpec* spec;
  std::string place;  // of its parameters, e.g. "tools[2].function.parameters"; for messages
  bool is_strict;     // its schema must be kept to whole; else what no grammar holds of it is left out
  // What its only argument, a text, must be; null: the schema says it.
  const grammar::RuleSet* input = nullptr;
};

// The rules of one or more calls (exactly one where not `parallel`) of the tools, of which there is one at least.
// Errors, each naming the field: Unsupported for what no grammar holds of a strict tool's schema; InvalidArgument for
// schemas that are wrong.
Result<grammar::RuleSet> required_calls(const CallForm& form, std::span<const RequiredTool> tools, bool parallel);

// Whether the calls that a model makes of its own accord can be told from its text beforehand, which optional_calls()
// needs.
bool has_optional_calls(const OutputFormat& format);
// The rules of text and, after it, any number of calls (one at most where not `parallel`). Text holds none of the marks
// with which calls begin. Only tools with an `input` are held to it: of others, calls are only such that they can be
// read.
Result<grammar::RuleSet> optional_calls(const CallForm& form, std::span<const RequiredTool> tools, bool parallel);

}  // namespace realizar::text
