// Any text as a model's output, in every format, in random cuts. The first byte selects the format, the second whether
// there are tools and whether reasoning is open; the third is the seed of the cuts. Invariants: joined events do not
// depend on the cuts; calls begin once, end once (except the last one, which the text's end may cut) and have valid
// arguments; without tools and reasoning, content is the text.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <string_view>

#include "require.h"
#include "text/output/output_parser.h"
#include "text/output/sample_forms.h"
#include "text/utf8.h"

using namespace realizar::text;
using Kind = OutputEvent::Kind;

namespace {

const std::vector<OutputFormat>& formats() {
  static const std::vector<OutputFormat> all = [] {
    std::vector<OutputFormat> formats{{}, general_format()};
    for (const KnownFormat& known : known_formats()) formats.push_back(known.format);
    for (const CallForm& form :
         {mistral_list_form(), mistral_form(), deepseek_r1_form(), deepseek_form(), dsml_form(), qwen3_coder_form(),
          glm_form(), cohere_form(), apertus_form(), gemma_form(), olmo_form()}) {
      formats.push_back({.calls = form});
    }
    return formats;
  }();
  return all;
}

// Numbers too large for a double are valid JSON too.
struct Acceptor final : nlohmann::json_sax<nlohmann::json> {
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) override {
    too_large = error.id == 406;
    return false;
  }
  bool too_large = false;
};

void require_object(const std::string& json) {
  Acceptor acceptor;
  require(json.starts_with('{'));
  require(nlohmann::json::sax_parse(json, &acceptor) || acceptor.too_large);
}

void append(std::vector<OutputEvent>& all, std::vector<OutputEvent> events) {
  for (OutputEvent& event : events) {
    const bool is_text = event.kind != Kind::kToolCallBegin && event.kind != Kind::kToolCallEnd;
    require(!is_text || !event.text.empty());
    if (is_text && !all.empty() && all.back().kind == event.kind && all.back().call_idx == event.call_idx) {
      all.back().text += event.text;
    } else {
      all.push_back(std::move(event));
    }
  }
}

void require_calls(const std::vector<OutputEvent>& events) {
  size_t n_calls = 0;
  bool is_open = false;
  std::string arguments;
  for (const OutputEvent& event : events) {
    if (event.kind == Kind::kToolCallBegin) {
      require(!is_open && event.call_idx == n_calls++);
      is_open = true;
      arguments.clear();
    } else if (event.kind == Kind::kToolCallArguments) {
      require(is_open && event.call_idx + 1 == n_calls);
      arguments += event.text;
    } else if (event.kind == Kind::kToolCallEnd) {
      require(is_open && event.call_idx + 1 == n_calls);
      is_open = false;
      require_object(arguments);
    } else {
      require(!is_open);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<ToolSpec> tools = {
      {"f", nlohmann::ordered_json::parse(R"({"properties": {"s": {"type": "string"}, "n": {"type": "integer"}}})")},
      {"g", nlohmann::ordered_json::object()}};
  if (size < 3) return 0;
  OutputFormat format = formats()[data[0] % formats().size()];
  const bool has_tools = (data[1] & 1) != 0;
  if ((data[1] & 2) != 0) format.reasoning = TagPair{"<think>", "</think>"};
  if ((data[1] & 4) != 0) format.content_wrapper = TagPair{"<response>", "</response>"};
  const bool is_open = (data[1] & 8) != 0 && format.reasoning;
  const std::string text = replace_invalid_utf8({reinterpret_cast<const char*>(data) + 3, size - 3});

  OutputParser whole(format, has_tools ? tools : std::vector<ToolSpec>{}, is_open);
  std::vector<OutputEvent> expected;
  append(expected, whole.push(text));
  append(expected, whole.finish());
  require_calls(expected);

  OutputParser parser(format, has_tools ? tools : std::vector<ToolSpec>{}, is_open);
  std::vector<OutputEvent> events;
  std::minstd_rand random(data[2]);
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin + 1 + random() % (1 + data[2] % 16);
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
    append(events, parser.push(std::string_view(text).substr(begin, end - begin)));
    begin = end;
  }
  append(events, parser.finish());
  require(events == expected);

  const bool is_plain = !has_tools && !format.reasoning && !format.content_wrapper && !format.channels;
  if (is_plain) {
    require(text.empty() ? events.empty() : events.size() == 1 && events[0].text == text);
  }
  return 0;
}
