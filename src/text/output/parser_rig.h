// For tests: runs an OutputParser over a text cut in many ways, and collects its events like a client.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/output/output_parser.h"

namespace realizar::text {

using Json = nlohmann::ordered_json;

struct ParsedOutput {
  std::string reasoning;
  std::string content;
  std::vector<std::pair<std::string, std::string>> calls;  // name, arguments as text

  bool operator==(const ParsedOutput&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const ParsedOutput& output) {
  out << "reasoning '" << output.reasoning << "' content '" << output.content << "'";
  for (const auto& [name, arguments] : output.calls) out << " call " << name << " " << arguments;
  return out;
}

// Joins adjacent events of the same kind across pushes.
inline void append_events(std::vector<OutputEvent>& all, std::vector<OutputEvent> events) {
  for (OutputEvent& event : events) {
    const bool is_text =
        event.kind != OutputEvent::Kind::kToolCallBegin && event.kind != OutputEvent::Kind::kToolCallEnd;
    if (is_text && !all.empty() && all.back().kind == event.kind && all.back().call_idx == event.call_idx) {
      all.back().text += event.text;
    } else {
      all.push_back(std::move(event));
    }
  }
}

struct ParserRig {
  OutputFormat format;
  std::vector<ToolSpec> tools;
  bool starts_in_reasoning = false;

  // Cuts `text` before characters chosen by `cuts_before(character index)`.
  template <class CutsBefore>
  std::vector<OutputEvent> events(std::string_view text, CutsBefore cuts_before) const {
    OutputParser parser(format, tools, starts_in_reasoning);
    std::vector<OutputEvent> all;
    size_t begin = 0;
    for (size_t i = 1; i < text.size(); ++i) {
      const bool is_boundary = (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
      if (!is_boundary || !cuts_before(i)) continue;
      append_events(all, parser.push(text.substr(begin, i - begin)));
      begin = i;
    }
    append_events(all, parser.push(text.substr(begin)));
    append_events(all, parser.finish());
    return all;
  }

  // Parses the whole text, character by character and in random cuts, which must all agree.
  ParsedOutput parse(std::string_view text) const {
    const std::vector<OutputEvent> whole = events(text, [](size_t) { return false; });
    EXPECT_EQ(whole, events(text, [](size_t) { return true; })) << "character by character: " << text;
    std::mt19937 random(7);
    for (int i = 0; i < 20; ++i)
      EXPECT_EQ(whole, events(text, [&](size_t) { return random() % 6 == 0; })) << "in random cuts: " << text;
    return gathered(whole);
  }

  static ParsedOutput gathered(const std::vector<OutputEvent>& events) {
    ParsedOutput output;
    bool is_open = false;
    for (const OutputEvent& event : events) {
      switch (event.kind) {
        case OutputEvent::Kind::kReasoning:
          output.reasoning += event.text;
          break;
        case OutputEvent::Kind::kContent:
          output.content += event.text;
          break;
        case OutputEvent::Kind::kToolCallBegin:
          EXPECT_FALSE(is_open) << "a call without an end";
          EXPECT_EQ(event.call_idx, output.calls.size());
          output.calls.emplace_back(event.text, "");
          is_open = true;
          break;
        case OutputEvent::Kind::kToolCallArguments:
          EXPECT_TRUE(is_open && event.call_idx + 1 == output.calls.size());
          if (!output.calls.empty()) output.calls.back().second += event.text;
          break;
        case OutputEvent::Kind::kToolCallEnd:
          EXPECT_TRUE(is_open && event.call_idx + 1 == output.calls.size());
          is_open = false;
          break;
      }
    }
    // Only the last call may be unfinished, if the text ends in it.
    for (size_t i = 0; i + (is_open ? 1 : 0) < output.calls.size(); ++i) {
      const auto& [name, arguments] = output.calls[i];
      EXPECT_TRUE(Json::parse(arguments, nullptr, false).is_object()) << name << " " << arguments;
    }
    return output;
  }
};

}  // namespace realizar::text
