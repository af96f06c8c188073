#include "text/output/markers.h"

namespace realizar::text {

ToolMarkers tool_markers(ToolFormat format) {
  switch (format) {
    case ToolFormat::kNone:
      return {};
    case ToolFormat::kHermes:
      return {{"<tool_call>"}, {}, {"</tool_call>"}};
    case ToolFormat::kLlama3Json:
      return {{"<|python_tag|>"}, {}, {}};
    case ToolFormat::kMistral:
      return {{"[TOOL_CALLS]"}, {}, {"[CALL_ID]", "[ARGS]"}};
    case ToolFormat::kDeepSeek:
      return {{"<｜tool▁calls▁begin｜>"},
              {"<｜tool▁call▁begin｜>"},
              {"<｜tool▁sep｜>", "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"}};
    case ToolFormat::kGptOss:
      return {{}, {"<|start|>", "<|channel|>"}, {"<|constrain|>", "<|message|>", "<|end|>", "<|call|>", "<|return|>"}};
    case ToolFormat::kQwen3Coder:
      return {{"<tool_call>"}, {"<function="}, {"<parameter=", "</parameter>", "</function>", "</tool_call>"}};
    case ToolFormat::kGlm:
      return {{"<tool_call>"}, {}, {"<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "</tool_call>"}};
    case ToolFormat::kKimi:
      return {{"<|tool_calls_section_begin|>"},
              {"<|tool_call_begin|>"},
              {"<|tool_call_argument_begin|>", "<|tool_call_end|>", "<|tool_calls_section_end|>"}};
    case ToolFormat::kCohere:
      return {{"<|START_ACTION|>"}, {}, {"<|END_ACTION|>"}};
    case ToolFormat::kGranite:
      return {{"<|tool_call|>"}, {}, {}};
    case ToolFormat::kGemma:
      return {{"<|tool_call>"}, {}, {"<|\"|>", "<tool_call|>"}};
    case ToolFormat::kLfm2:
      return {{"<|tool_call_start|>"}, {}, {"<|tool_call_end|>"}};
  }
  return {};
}

}  // namespace realizar::text
