#include "text/output/output_format.h"

#include <algorithm>
#include <array>

#include "text/output/formats/format.h"
#include "text/tokenizer/tokenizer.h"

namespace realizar::text {
namespace {

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

std::string_view without_end_blanks(std::string_view text) {
  return text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
}

template <size_t N>
std::optional<TagPair> first_tags_in(std::string_view source, const std::array<Tags, N>& table) {
  for (const Tags& tags : table) {
    if (contains(source, tags.begin) || contains(source, tags.end))
      return TagPair{std::string(tags.begin), std::string(tags.end)};
  }
  return std::nullopt;
}

const Channels* channels_of(const OutputFormat& format) {
  const FormatSpec* spec = spec_of(format.tools);
  return spec != nullptr && spec->channels ? &*spec->channels : nullptr;
}

}  // namespace

OutputFormat detect_output_format(std::string_view template_source) {
  OutputFormat format;
  const auto shows = [&](const FormatSpec* spec) {
    return std::ranges::any_of(spec->signs, [&](std::string_view sign) { return contains(template_source, sign); });
  };
  const auto all = all_formats();
  const auto found = std::ranges::find_if(all, shows);
  if (found != all.end()) format.tools = (*found)->format;
  if (channels_of(format) != nullptr) return format;
  format.reasoning = first_tags_in(template_source, kReasoningTags);
  format.content_wrapper = first_tags_in(template_source, kWrapperTags);
  return format;
}

bool marks_reasoning(const OutputFormat& format) {
  return format.reasoning || channels_of(format) != nullptr;
}

void drop_tools(OutputFormat& format) {
  if (channels_of(format) == nullptr) format.tools = ToolFormat::kNone;
}

bool can_be_continued(const OutputFormat& format) {
  return channels_of(format) == nullptr;
}

GrammarStart grammar_start(const OutputFormat& format, bool in_reasoning) {
  if (const Channels* channels = channels_of(format)) return {.after = std::string(channels->answer_header)};
  if (!format.reasoning) return {};
  return {format.reasoning->end, in_reasoning ? "" : format.reasoning->begin};
}

GrammarStart required_calls_start(const OutputFormat& format, bool in_reasoning) {
  return channels_of(format) != nullptr ? GrammarStart{} : grammar_start(format, in_reasoning);
}

std::optional<ReasoningMarks> reasoning_marks(const OutputFormat& format) {
  if (const Channels* channels = channels_of(format)) {
    return ReasoningMarks{std::string(channels->reasoning_header), channels->ends, std::string(channels->next_channel),
                          std::string(channels->reasoning_name), true};
  }
  if (!format.reasoning) return std::nullopt;
  return ReasoningMarks{format.reasoning->begin, {format.reasoning->end}, format.reasoning->end, ""};
}

bool prompt_opens_reasoning(const OutputFormat& format, std::string_view prompt) {
  prompt = without_end_blanks(prompt);
  if (const Channels* channels = channels_of(format)) return prompt.ends_with(channels->reasoning_header);
  return format.reasoning && prompt.ends_with(format.reasoning->begin);
}

bool opens_any_reasoning(std::string_view prompt) {
  prompt = without_end_blanks(prompt);
  return std::ranges::any_of(kReasoningTags, [&](const Tags& tags) { return prompt.ends_with(tags.begin); });
}

std::vector<std::string> marker_strings(const OutputFormat& format) {
  std::vector<std::string> all;
  if (const FormatSpec* spec = spec_of(format.tools)) {
    for (const auto* markers : {&spec->markers.opening, &spec->markers.leading, &spec->markers.inner}) {
      all.insert(all.end(), markers->begin(), markers->end());
    }
  }
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
