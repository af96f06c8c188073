#include "text/output/output_format.h"

#include <array>

#include "text/output/markers.h"
#include "text/tokenizer.h"

namespace realizar::text {
namespace {

struct ToolSign {
  std::string_view in_source;
  ToolFormat format;
};

// The first that the source contains decides, so what is particular stands before what others contain too.
constexpr std::array kToolSigns = {
    ToolSign{"<|channel|>analysis", ToolFormat::kGptOss},
    ToolSign{"<｜tool▁calls▁begin｜>", ToolFormat::kDeepSeek},
    ToolSign{"<|tool_calls_section_begin|>", ToolFormat::kKimi},
    ToolSign{"<|START_ACTION|>", ToolFormat::kCohere},
    ToolSign{"<|tool_call>call:", ToolFormat::kGemma},
    ToolSign{"<parameter=", ToolFormat::kQwen3Coder},
    ToolSign{"<arg_key>", ToolFormat::kGlm},
    ToolSign{"[TOOL_CALLS]", ToolFormat::kMistral},
    ToolSign{"<|tool_call_start|>", ToolFormat::kLfm2},
    ToolSign{"<|tool_list_start|>", ToolFormat::kLfm2},
    ToolSign{"<|tool_call|>", ToolFormat::kGranite},
    ToolSign{"<tool_call>", ToolFormat::kHermes},
    ToolSign{"<|python_tag|>", ToolFormat::kLlama3Json},
    ToolSign{R"({"name": function name, "parameters")", ToolFormat::kLlama3Json},
};

struct Tags {
  std::string_view begin;
  std::string_view end;
};

constexpr std::array kReasoningTags = {
    Tags{"<think>", "</think>"},
    Tags{"<|START_THINKING|>", "<|END_THINKING|>"},
    Tags{"<|channel>thought", "<channel|>"},
    Tags{"[THINK]", "[/THINK]"},
    Tags{"◁think▷", "◁/think▷"},
    Tags{"<seed:think>", "</seed:think>"},
};

constexpr std::array kWrapperTags = {
    Tags{"<|START_RESPONSE|>", "<|END_RESPONSE|>"},
    Tags{"<response>", "</response>"},
};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

template <size_t N>
std::optional<TagPair> first_tags_in(std::string_view source, const std::array<Tags, N>& table) {
  for (const Tags& tags : table) {
    if (contains(source, tags.begin) || contains(source, tags.end))
      return TagPair{std::string(tags.begin), std::string(tags.end)};
  }
  return std::nullopt;
}

}  // namespace

OutputFormat detect_output_format(std::string_view template_source) {
  OutputFormat format;
  for (const ToolSign& sign : kToolSigns) {
    if (!contains(template_source, sign.in_source)) continue;
    format.tools = sign.format;
    break;
  }
  if (format.tools == ToolFormat::kGptOss) return format;
  format.reasoning = first_tags_in(template_source, kReasoningTags);
  format.content_wrapper = first_tags_in(template_source, kWrapperTags);
  return format;
}

bool prompt_opens_reasoning(const OutputFormat& format, std::string_view prompt) {
  prompt = prompt.substr(0, prompt.find_last_not_of(" \t\r\n") + 1);
  if (format.tools == ToolFormat::kGptOss) return prompt.ends_with("<|channel|>analysis<|message|>");
  return format.reasoning && prompt.ends_with(format.reasoning->begin);
}

std::vector<std::string> marker_strings(const OutputFormat& format) {
  const ToolMarkers tools = tool_markers(format.tools);
  std::vector<std::string> all = tools.opening;
  all.insert(all.end(), tools.leading.begin(), tools.leading.end());
  all.insert(all.end(), tools.inner.begin(), tools.inner.end());
  for (const std::optional<TagPair>& tags : {format.reasoning, format.content_wrapper}) {
    if (tags) all.insert(all.end(), {tags->begin, tags->end});
  }
  return all;
}

std::vector<TokenId> marker_tokens(const OutputFormat& format, const Tokenizer& tokenizer) {
  std::vector<TokenId> tokens;
  for (const std::string& marker : marker_strings(format)) {
    if (const auto id = tokenizer.find(marker)) tokens.push_back(*id);
  }
  return tokens;
}

}  // namespace realizar::text
