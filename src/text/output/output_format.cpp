#include "text/output/output_format.h"

#include <algorithm>
#include <array>

#include "base/json_text.h"
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
    Tags{"<|inner_prefix|>", "<|inner_suffix|>"},
    Tags{"Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]"},
};

constexpr std::array kWrapperTags = {
    Tags{"<|START_RESPONSE|>", "<|END_RESPONSE|>"},
    Tags{"<|START_TEXT|>", "<|END_TEXT|>"},
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

using Json = nlohmann::ordered_json;

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : json_text(value);
}

std::string value_text(const Json& value, const ArgumentTags& tags) {
  if (!value.is_string() || tags.quote == "\"") return json_text(value);
  return tags.quote + value.get<std::string>() + tags.quote;
}

std::string tagged_arguments(const Json& arguments, const ArgumentTags& tags) {
  std::string text;
  for (const auto& [key, value] : arguments.items()) {
    const bool is_json = !value.is_string() && !tags.json_key_close.empty();
    if (!text.empty()) text += tags.between;
    text += tags.key_open + key + (is_json ? tags.json_key_close : tags.key_close);
    text += value_text(value, tags) + tags.value_close;
  }
  return text;
}

std::string spelled(const WrittenCall& call, const CallForm& form) {
  const bool is_tagged = form.tags && call.arguments.is_object();
  const std::string arguments = is_tagged ? tagged_arguments(call.arguments, *form.tags) : text_of(call.arguments);
  return form.open + std::string(call.name) + form.name_end + arguments + form.close;
}

}  // namespace

void find_tags(OutputFormat& format, std::string_view source) {
  if (format.channels) return;
  if (auto tags = first_tags_in(source, kReasoningTags)) format.reasoning = std::move(tags);
  if (auto tags = first_tags_in(source, kWrapperTags)) format.content_wrapper = std::move(tags);
  if (!format.content_wrapper || !format.content_wrapper->begin.starts_with("<|")) return;
  // Models of a family may write the marks of another template of that family.
  for (const Tags& tags : kWrapperTags) {
    if (!tags.begin.starts_with("<|") || tags.begin == format.content_wrapper->begin) continue;
    format.stray_marks.insert(format.stray_marks.end(), {std::string(tags.begin), std::string(tags.end)});
  }
}

bool marks_reasoning(const OutputFormat& format) {
  return format.reasoning || format.channels;
}

void drop_tools(OutputFormat& format) {
  if (!format.channels) format.calls.reset();
}

bool can_be_continued(const OutputFormat& format) {
  return !format.channels;
}

GrammarStart grammar_start(const OutputFormat& format, bool in_reasoning) {
  if (const auto& channels = format.channels) {
    return {.after = channels->answer_header, .close = channels->to_answer, .call_end = channels->call_end};
  }
  if (!format.reasoning) return {};
  const auto& [begin, end] = *format.reasoning;
  return {.after = end, .may_open = in_reasoning ? "" : begin, .close = end};
}

GrammarStart required_calls_start(const OutputFormat& format, bool in_reasoning) {
  return format.channels ? GrammarStart{} : grammar_start(format, in_reasoning);
}

std::optional<ReasoningMarks> reasoning_marks(const OutputFormat& format) {
  if (const auto& channels = format.channels) {
    return ReasoningMarks{channels->reasoning_header, channels->ends, channels->next_channel, channels->reasoning_name,
                          true};
  }
  if (!format.reasoning) return std::nullopt;
  return ReasoningMarks{format.reasoning->begin, {format.reasoning->end}, format.reasoning->end, ""};
}

bool prompt_opens_reasoning(const OutputFormat& format, std::string_view prompt) {
  prompt = without_end_blanks(prompt);
  if (format.channels) return prompt.ends_with(format.channels->reasoning_header);
  return format.reasoning && prompt.ends_with(format.reasoning->begin);
}

bool opens_any_reasoning(std::string_view prompt) {
  prompt = without_end_blanks(prompt);
  return std::ranges::any_of(kReasoningTags, [&](const Tags& tags) { return prompt.ends_with(tags.begin); });
}

std::vector<std::string> marker_strings(const OutputFormat& format) {
  std::vector<std::string> all;
  const auto add = [&](const std::vector<std::string>& marks) { all.insert(all.end(), marks.begin(), marks.end()); };
  if (format.calls) {
    const CallMarks marks = marks_of(*format.calls);
    add(marks.openers);
    if (!marks.call_begin.empty()) all.push_back(marks.call_begin);
    add(marks.name_end);
    add(marks.closers);
    if (format.calls->tags) {
      const ArgumentTags& tags = *format.calls->tags;
      for (const std::string* tag : {&tags.key_open, &tags.key_close, &tags.value_close, &tags.quote}) {
        add(split_marks(*tag));
      }
    }
    if (!format.calls->id_mark.empty()) all.push_back(format.calls->id_mark);
  }
  if (format.channels) {
    add(format.channels->ends);
    add(format.channels->inner);
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

std::string written_calls(const OutputFormat& format, std::span<const WrittenCall> calls) {
  const CallForm& form = format.calls ? *format.calls : *general_format().calls;
  std::string text = form.first;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (i > 0) text += form.between;
    text += spelled(calls[i], form);
  }
  return text + form.last;
}

}  // namespace realizar::text
