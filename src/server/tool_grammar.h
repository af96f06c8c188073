// Grammars of required tool calls, as each format spells them (text/output/output_format.h).
#pragma once

#include <span>
#include <string>

#include "realizar/result.h"
#include "server/chat_tools.h"

namespace realizar::server {

// GBNF for one or more calls (exactly one where not `parallel`) of the given tools in a model's format. Errors, each
// naming the field: Unsupported for formats in which required calls are not built, and for what no grammar holds of a
// strict tool's schema; InvalidArgument for schemas that are wrong.
Result<std::string> tool_call_grammar(text::ToolFormat format, std::span<const ChatTool> tools, bool parallel);

}  // namespace realizar::server
