// How a chat model spells tool calls and reasoning in what it writes. Chosen by what the source of its chat template
// contains, never by the model's name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/types.h"

namespace realizar::text {

class Tokenizer;

enum class ToolFormat {
  kNone,
  kHermes,      // <tool_call>{"name": .., "arguments": {..}}</tool_call>: Hermes, Qwen2.5, Qwen3, MiMo
  kLlama3Json,  // {"name": .., "parameters": {..}} as the whole message; after <|python_tag|> also name.call(k="v")
  kMistral,     // [TOOL_CALLS][{"name": .., "arguments": {..}}], [TOOL_CALLS]name[ARGS]{..}
  kDeepSeek,  // <｜tool▁call▁begin｜>: V3 and R1 with type, name and ```json, V3.1 with name<｜tool▁sep｜>{..}
  kGptOss,    // harmony: <|channel|>commentary to=functions.name<|message|>{..}<|call|>, analysis, final
  kQwen3Coder,  // <tool_call><function=name><parameter=key>value</parameter></function></tool_call>; Nemotron 3
  kGlm,         // <tool_call>name<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>
  kKimi,        // <|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{..}<|tool_call_end|>
  kCohere,      // <|START_ACTION|>[{"tool_name": .., "parameters": {..}}]<|END_ACTION|>
  kGranite,     // <|tool_call|>[{"name": .., "arguments": {..}}]
  kGemma,       // <|tool_call>call:name{key:<|"|>text<|"|>,n:2}<tool_call|>
  kLfm2,        // <|tool_call_start|>[name(key="text", n=2)]<|tool_call_end|>
};

// The tags around a text.
struct TagPair {
  std::string begin;
  std::string end;
};

struct OutputFormat {
  ToolFormat tools = ToolFormat::kNone;
  std::optional<TagPair> reasoning;        // empty for kGptOss, whose channels say what is reasoning
  std::optional<TagPair> content_wrapper;  // tags around the answer itself, which are dropped: Command R7B, Granite
};

OutputFormat detect_output_format(std::string_view template_source);

// Whether the rendered prompt ends with reasoning opened, so that the model writes on inside it.
bool prompt_opens_reasoning(const OutputFormat& format, std::string_view prompt);

// The markers that the parser must see. Where the vocabulary has one as a special token, it must be decoded to text.
std::vector<std::string> marker_strings(const OutputFormat& format);
// Those that are special tokens of the vocabulary, or any other token.
std::vector<TokenId> marker_tokens(const OutputFormat& format, const Tokenizer& tokenizer);

}  // namespace realizar::text
