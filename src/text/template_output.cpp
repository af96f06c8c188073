#include "text/template_output.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json_text.h"
#include "text/chat_template.h"
#include "text/conversation.h"
#include "text/output/formats/format.h"
#include "text/output/json_value.h"
#include "text/output/output_format.h"
#include "text/output/output_parser.h"
#include "text/template_probe.h"

namespace realizar::text {
namespace {

using Json = nlohmann::ordered_json;
using Arguments = CallForm::Arguments;

// Words that no template contains.
constexpr std::string_view kProbeUser = "zquser", kProbeAnswer = "zqanswer", kProbeText = "zqtext";
constexpr std::array<std::string_view, 2> kProbeNames = {"zqname1", "zqname2"};
constexpr std::array<std::string_view, 2> kProbeIds = {"zqidzqid1", "zqidzqid2"};

struct TextSpan {
  size_t begin = 0, end = 0;
};

// The end of a cut text, without a mark that the cut splits.
std::string_view without_cut_mark_at_end(std::string_view text) {
  const size_t open = text.find_last_of("<[");
  if (open == std::string_view::npos) return text;
  const char close = text[open] == '<' ? '>' : ']';
  return text.find(close, open) == std::string_view::npos ? text.substr(0, open) : text;
}

std::string_view without_cut_mark_at_begin(std::string_view text) {
  const size_t open = std::min(text.find_first_of("<["), text.size());
  const size_t close = text.substr(0, open).find_last_of(">]");
  return close == std::string_view::npos ? text : text.substr(close + 1);
}

std::string_view common_begin(std::string_view a, std::string_view b) {
  const auto end = std::ranges::mismatch(a, b).in1;
  return a.substr(0, static_cast<size_t>(end - a.begin()));
}

std::string_view common_end(std::string_view a, std::string_view b) {
  size_t n = 0;
  while (n < a.size() && n < b.size() && a[a.size() - 1 - n] == b[b.size() - 1 - n]) ++n;
  return a.substr(a.size() - n);
}

// The end of the JSON value that begins at `begin`; nullopt: none.
std::optional<size_t> json_end(std::string_view text, size_t begin) {
  JsonValueReader reader;
  std::string json;
  for (size_t i = begin; i < text.size(); ++i) {
    const auto step = reader.push(text[i], json);
    if (step == JsonValueReader::Step::kEnd) return i + 1;
    if (step != JsonValueReader::Step::kTaken) return std::nullopt;
  }
  return std::nullopt;
}

// The positions of one call's words in the prompt.
struct CallPlaces {
  TextSpan name;
  std::vector<TextSpan> keys, values;

  size_t end() const { return values.back().end; }
};

// The text of one call, separated from the text between calls.
struct PrintedCall {
  TextSpan span;
  CallForm form;  // the parts inside the span
};

class CallAnalysis {
 public:
  CallAnalysis(TemplateProbe& probe, const TemplateTraits& traits) : probe_(probe), traits_(traits) {
    // Asks with tools and one turn of calls, which more templates support.
    traits_.takes_calls = traits_.takes_results = traits_.takes_parallel_calls = true;
  }

  // Nullopt if the template prints no calls, or in an unknown form.
  std::optional<CallForm> form() {
    const bool may_have_text = traits_.text_with_calls == TemplateTraits::TextWithCalls::kSameMessage;
    for (const bool has_text : {true, false}) {
      if (has_text && !may_have_text) continue;
      for (const bool has_result : {false, true}) {
        for (const size_t n_calls : {2, 1}) {
          if (auto form = form_of(n_calls, has_text, has_result)) return form;
        }
      }
    }
    return std::nullopt;
  }

 private:
  static MessageCall call(size_t number, bool is_string) {
    Json arguments;
    for (const char* key : {"a", "b"}) {
      const std::string end = key + std::to_string(number);
      arguments["zqkey" + end] = is_string ? Json("zqvalue" + end) : Json(1234560 + 10 * number + (key[0] == 'b'));
    }
    return {std::string(kProbeIds[number]), std::string(kProbeNames[number]), arguments};
  }

  static Json tools() {
    Json tools = Json::array();
    for (size_t i = 0; i < kProbeNames.size(); ++i) {
      Json properties = Json::object();
      const Json arguments = call(i, true).arguments;
      for (const auto& [key, value] : arguments.items()) {
        properties[key] = {{"type", "string"}, {"description", "zqhint"}};
      }
      const Json parameters = {{"type", "object"}, {"properties", properties}, {"required", Json::array()}};
      tools.push_back(
          {{"type", "function"},
           {"function", {{"name", kProbeNames[i]}, {"description", "zq description"}, {"parameters", parameters}}}});
    }
    return tools;
  }

  std::optional<std::string> rendered(std::vector<Message> messages) {
    return probe_.rendered(TemplateProbe::variables_of({std::move(messages), tools()}, traits_, false));
  }

  std::optional<std::string> rendered_calls(size_t n_calls, bool has_text, bool has_result, bool has_strings) {
    std::vector<Message> messages = {{.role = Role::kUser, .content = std::string(kProbeUser)}};
    Message calling{.role = Role::kAssistant, .content = std::string(has_text ? kProbeText : "")};
    for (size_t i = 0; i < n_calls; ++i) calling.calls.push_back(call(i, has_strings));
    messages.push_back(calling);
    for (size_t i = 0; has_result && i < n_calls; ++i) {
      messages.push_back({.role = Role::kTool, .content = "zqresult", .tool_call_id = std::string(kProbeIds[i])});
    }
    return rendered(std::move(messages));
  }

  // The text after the user's, with ids as words.
  std::optional<std::string> text_of_calls(size_t n_calls, bool has_text, bool has_result, bool has_strings) {
    const auto text = rendered_calls(n_calls, has_text, has_result, has_strings);
    if (!text) return std::nullopt;
    const size_t user = text->rfind(kProbeUser);
    if (user == std::string::npos) return std::nullopt;
    return text->substr(user + kProbeUser.size());
  }

  // Finds the words of a call in order.
  static std::optional<CallPlaces> places_of(std::string_view text, size_t number, size_t from) {
    CallPlaces places;
    size_t at = from;
    const auto find = [&](std::string_view word) -> std::optional<TextSpan> {
      const size_t begin = text.find(word, at);
      if (begin == std::string_view::npos) return std::nullopt;
      at = begin + word.size();
      return TextSpan{begin, at};
    };
    const auto name = find(kProbeNames[number]);
    if (!name) return std::nullopt;
    places.name = *name;
    const Json arguments = call(number, true).arguments;
    for (const auto& [key, value] : arguments.items()) {
      const auto key_span = find(key);
      const auto value_span = key_span ? find(value.get<std::string>()) : std::nullopt;
      if (!value_span) return std::nullopt;
      places.keys.push_back(*key_span);
      places.values.push_back(*value_span);
    }
    return places;
  }

  std::optional<CallForm> form_of(size_t n_calls, bool has_text, bool has_result) {
    const auto whole = text_of_calls(n_calls, has_text, has_result, true);
    if (!whole) return std::nullopt;
    text_ = *whole;
    const auto head = head_begin(has_text);
    if (!head) return std::nullopt;
    std::vector<PrintedCall> units;
    size_t at = *head;
    for (size_t i = 0; i < n_calls; ++i) {
      const auto places = places_of(text_, i, at);
      auto unit = places ? unit_of(*places, at) : std::nullopt;
      if (!unit) return std::nullopt;
      at = unit->span.end;
      units.push_back(std::move(*unit));
    }
    auto form = joined(units, *head);
    return reads_back(form, *head, n_calls) ? std::optional(std::move(form)) : std::nullopt;
  }

  // Whether the prompt's calls can be read in the form that was found in it.
  bool reads_back(const CallForm& form, size_t head, size_t n_calls) const {
    std::vector<ToolSpec> specs;
    for (const Json& tool : tools()) specs.push_back({tool["function"]["name"], tool["function"]["parameters"]});
    OutputParser parser({.calls = form}, specs, false);
    std::vector<OutputEvent> events = parser.push(std::string_view(text_).substr(head));
    for (OutputEvent& event : parser.finish()) events.push_back(std::move(event));
    std::vector<std::pair<std::string, std::string>> read;
    for (const OutputEvent& event : events) {
      if (event.kind == TextKind::kToolCallBegin) read.emplace_back(event.text, "");
      if (event.kind == TextKind::kToolCallArguments) read.back().second += event.text;
    }
    const auto is_right = [&](size_t i) {
      return read[i].first == kProbeNames[i] && Json::parse(read[i].second, nullptr, false) == call(i, true).arguments;
    };
    return read.size() == n_calls && is_right(0) && is_right(n_calls - 1);
  }

  // The beginning of the model's own text with calls.
  std::optional<size_t> head_begin(bool has_text) {
    const size_t name = text_.find(kProbeNames[0]);
    if (name == std::string::npos) return std::nullopt;
    if (has_text) {
      const size_t text = text_.find(kProbeText);
      if (text == std::string::npos || text > name) return std::nullopt;
      return text + kProbeText.size();
    }
    const std::string_view answered = answered_turn();
    const size_t answer = answered.find(kProbeAnswer);
    if (answer == std::string_view::npos) return std::nullopt;
    return without_cut_mark_at_end(common_begin(answered.substr(0, answer), text_)).size();
  }

  // An answer and the text around it, after the user's; "": the template refuses it.
  std::string_view answered_turn() {
    if (!answered_) {
      answered_ = rendered({{.role = Role::kUser, .content = std::string(kProbeUser)},
                            {.role = Role::kAssistant, .content = std::string(kProbeAnswer)}})
                      .value_or("");
      const size_t user = answered_->rfind(kProbeUser);
      answered_->erase(0, user == std::string::npos ? user : user + kProbeUser.size());
    }
    return *answered_;
  }

  std::optional<PrintedCall> unit_of(const CallPlaces& places, size_t from) {
    if (auto unit = object_unit(places, from)) return unit;
    if (auto unit = object_after_unit(places)) return unit;
    if (auto unit = literal_unit(places)) return unit;
    return tagged_unit(places);
  }

  std::string between(size_t begin, size_t end) const { return text_.substr(begin, end - begin); }

  // The object with the arguments: the first one that begins before the first key and ends after the last value.
  std::optional<TextSpan> arguments_object(const CallPlaces& places) const {
    for (size_t at = text_.find('{', places.name.end); at < places.keys.front().begin; at = text_.find('{', at + 1)) {
      const auto end = json_end(text_, at);
      if (end && *end > places.end()) return TextSpan{at, *end};
    }
    return std::nullopt;
  }

  // The smallest object that contains name and arguments.
  std::optional<PrintedCall> object_unit(const CallPlaces& places, size_t from) const {
    for (size_t at = text_.find('{', from); at < places.name.begin; at = text_.find('{', at + 1)) {
      const auto end = json_end(text_, at);
      if (!end || *end < places.end()) continue;
      const auto arguments = arguments_object(places);
      if (!arguments) return std::nullopt;
      PrintedCall unit{{at, *end}, {}};
      const std::string rest = between(arguments->end, *end);
      const auto n_brackets = std::ranges::count(rest, '}');
      unit.form.open = between(at, places.name.begin);
      unit.form.name_end = between(places.name.end, arguments->begin);
      // Other members, such as ids, need not be written by the model.
      const bool is_plain = rest.find_first_not_of("} \t\r\n") == std::string::npos;
      unit.form.close = is_plain ? rest : std::string(static_cast<size_t>(n_brackets), '}');
      return unit;
    }
    return std::nullopt;
  }

  std::optional<PrintedCall> object_after_unit(const CallPlaces& places) const {
    const auto arguments = arguments_object(places);
    const bool is_quoted_key = arguments && text_[places.keys.front().begin - 1] == '"';
    if (!is_quoted_key) return std::nullopt;
    PrintedCall unit{{places.name.begin, arguments->end}, {.arguments = Arguments::kObjectAfter}};
    unit.form.name_end = between(places.name.end, arguments->begin);
    if (const size_t id = unit.form.name_end.find(kProbeIds[0]); id != std::string::npos) {
      unit.form.id_mark = without_space_around(unit.form.name_end.substr(0, id));
      unit.form.name_end.erase(0, id + kProbeIds[0].size());
    } else if (const size_t other = unit.form.name_end.find(kProbeIds[1]); other != std::string::npos) {
      unit.form.name_end.erase(0, other + kProbeIds[1].size());
    }
    return unit;
  }

  // f(key="text"): a quote, or a mark instead of it, encloses the values.
  std::optional<PrintedCall> literal_unit(const CallPlaces& places) const {
    const size_t open_at = places.keys[0].begin - 1;
    const char open = text_[open_at];
    if (open != '(' && open != '{') return std::nullopt;
    const size_t close = text_.find(open == '(' ? ')' : '}', places.end());
    const std::string assign = between(places.keys[0].end, places.values[0].begin);
    if (close == std::string::npos || assign.size() < 2) return std::nullopt;
    ArgumentTags tags;
    tags.key_close = assign.substr(0, 1);
    tags.quote = assign.substr(1);
    const std::string after_value = between(places.values[0].end, places.keys[1].begin);
    if (!after_value.starts_with(tags.quote) || without_space_around(tags.quote) != tags.quote) return std::nullopt;
    tags.between = after_value.substr(tags.quote.size());
    if (tags.quote == "'") tags.quote = "\"";
    PrintedCall unit{{places.name.begin, close + 1}, {.arguments = Arguments::kLiteral}};
    unit.form.name_end = between(places.name.end, places.keys[0].begin);
    unit.form.close = text_.substr(close, 1);
    unit.form.tags = std::move(tags);
    return unit;
  }

  std::optional<PrintedCall> tagged_unit(const CallPlaces& places) {
    const std::string name_to_key = between(places.name.end, places.keys[0].begin);
    const std::string value_to_key = between(places.values[0].end, places.keys[1].begin);
    const std::string_view key_open = common_end(name_to_key, value_to_key);
    const size_t tag = key_open.rfind('<');
    if (tag == std::string_view::npos) return std::nullopt;
    ArgumentTags tags;
    tags.key_open = key_open.substr(tag);
    tags.key_close = between(places.keys[0].end, places.values[0].begin);
    const std::string_view after = std::string_view(text_).substr(places.end());
    const std::string_view value_close = without_cut_mark_at_end(common_begin(value_to_key, after));
    if (without_space_around(value_close).empty() || without_space_around(tags.key_close).empty()) return std::nullopt;
    tags.value_close = value_close;
    PrintedCall unit{{places.name.begin, places.end() + value_close.size()}, {.arguments = Arguments::kTagged}};
    unit.form.name_end = name_to_key.substr(0, name_to_key.size() - tags.key_open.size());
    unit.form.tags = std::move(tags);
    return unit;
  }

  // The text before the next unit, or after the last one up to the turn's end, separated by comparison.
  CallForm joined(const std::vector<PrintedCall>& units, size_t head_begin) {
    CallForm form = units.front().form;
    const std::string head = between(head_begin, units.front().span.begin);
    std::string tail = text_.substr(units.back().span.end);
    if (const size_t result = tail.find("zqresult"); result != std::string::npos) tail.resize(result);
    cut_turn_end(tail);
    const std::string gap = units.size() > 1 ? between(units[0].span.end, units[1].span.begin) : "";
    split(form, without_thoughts(head), gap, tail, units.size() > 1);
    set_json_key_close(form);
    return form;
  }

  // The end of a turn follows an answer in the same way as calls.
  void cut_turn_end(std::string& tail) {
    const std::string_view answered = answered_turn();
    const size_t answer = answered.find(kProbeAnswer);
    if (answer == std::string_view::npos) return;
    const std::string_view after = answered.substr(answer + kProbeAnswer.size());
    for (const std::string& mark : split_marks(after)) {
      if (const size_t at = tail.find(mark); at != std::string::npos) return tail.resize(at);
    }
  }

  static std::string without_thoughts(std::string head) {
    OutputFormat format;
    find_tags(format, head);
    if (!format.reasoning) return head;
    const size_t end = head.rfind(format.reasoning->end);
    return end == std::string::npos ? head : head.substr(end + format.reasoning->end.size());
  }

  static void split(CallForm& form, std::string_view head, std::string_view gap, std::string_view tail,
                    bool has_several) {
    head = without_space_before(head);
    tail = without_space_after(tail);
    if (!has_several) {
      form.first = head;
      form.last = tail;
      form.is_single = true;
      return end_turns(form);
    }
    std::string_view begin = without_space_before(without_cut_mark_at_begin(common_end(head, gap)));
    std::string_view end = without_space_after(without_cut_mark_at_end(common_begin(gap, tail)));
    if (begin.size() + end.size() > gap.size()) end = {};
    form.first = head.substr(0, head.size() - begin.size());
    form.open = std::string(begin) + form.open;
    form.close += end;
    form.between = gap.substr(end.size(), gap.size() - begin.size() - end.size());
    form.last = tail.substr(end.size());
    end_turns(form);
  }

  // Marks that end the turn do not belong to the model's text.
  static void end_turns(CallForm& form) {
    for (const std::string_view mark : {"<|eom_id|>", "<|eot_id|>", "<|im_end|>", "<|tool_response>", "<|end|>"}) {
      if (const size_t at = form.last.find(mark); at != std::string::npos) form.last.resize(at);
    }
    form.last = without_space_after(form.last);
  }

  // Tags may indicate whether a value is a string.
  void set_json_key_close(CallForm& form) {
    if (form.arguments != Arguments::kTagged) return;
    const auto text = text_of_calls(1, false, false, false);
    if (!text) return;
    const size_t key = text->find("zqkeya0");
    const size_t value = text->find("1234560");
    if (key == std::string::npos || value == std::string::npos || value < key) return;
    const size_t key_end = key + std::string_view("zqkeya0").size();
    std::string close = text->substr(key_end, value - key_end);
    if (close != form.tags->key_close) form.tags->json_key_close = std::move(close);
  }

  TemplateProbe& probe_;
  TemplateTraits traits_;
  std::string text_;  // after the user's text
  std::optional<std::string> answered_;
};

bool is_control(const std::string& mark) {
  const bool is_tag = mark.size() > 4 && mark.front() == '<' && mark.back() == '>';
  const std::string_view inside = is_tag ? std::string_view(mark).substr(1, mark.size() - 2) : "";
  const bool has_bar = inside.starts_with("|") || inside.ends_with("|") || inside.starts_with("｜");
  return has_bar || (is_tag && inside.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == inside.npos);
}

// The control tokens that the template prints in a conversation, after the user's text.
std::vector<std::string> control_marks(TemplateProbe& probe, const TemplateTraits& traits, const OutputFormat& format,
                                       std::vector<Message> messages) {
  std::string text = probe.rendered(TemplateProbe::variables_of({std::move(messages)}, traits, false)).value_or("");
  text.erase(0, text.find(kProbeUser));
  const std::vector<std::string> of_answers = marker_strings(format);
  std::vector<std::string> marks;
  for (const std::string& mark : split_marks(text)) {
    const bool is_other = std::ranges::find(of_answers, mark) == of_answers.end();
    if (is_other && is_control(mark) && std::ranges::find(marks, mark) == marks.end()) marks.push_back(mark);
  }
  return marks;
}

// A model may write the marks that the template prints around turns and results.
void add_marks_of_others(TemplateProbe& probe, const TemplateTraits& traits, OutputFormat& format) {
  const Message user{.role = Role::kUser, .content = std::string(kProbeUser)};
  const Message answer{.role = Role::kAssistant, .content = std::string(kProbeAnswer)};
  Message calling{.role = Role::kAssistant, .content = ""};
  calling.calls.push_back({std::string(kProbeIds[0]), std::string(kProbeNames[0]), {{"zqkey", "zqvalue"}}});
  const Message result{.role = Role::kTool, .content = "zqresult", .tool_call_id = std::string(kProbeIds[0])};
  format.turn_marks = control_marks(probe, traits, format, {user, answer});
  for (std::string& mark : control_marks(probe, traits, format, {user, calling, result, answer})) {
    const bool is_turn = std::ranges::find(format.turn_marks, mark) != format.turn_marks.end();
    if (!is_turn) format.stray_marks.push_back(std::move(mark));
  }
}

}  // namespace

OutputFormat ask_output(const ChatTemplate& chat_template, const TemplateTraits& traits, std::string_view source) {
  const auto shows = [&](const KnownFormat& known) {
    return std::ranges::any_of(known.signs, [&](std::string_view sign) { return source.find(sign) != sign.npos; });
  };
  const auto all = known_formats();
  const auto known = std::ranges::find_if(all, shows);
  TemplateProbe probe(chat_template);
  OutputFormat format;
  if (known != all.end() && known->is_printed) format = known->format;
  if (!format.calls) format.calls = CallAnalysis(probe, traits).form();
  // Templates print one bare object; models write several, and calls in code syntax.
  if (format.calls && format.calls->is_single && marks_of(*format.calls).is_bare) {
    CallForm code = *llama3_json_format().format.calls;
    code.open = format.calls->open;
    code.name_end = format.calls->name_end;
    if (format.calls->arguments == Arguments::kInObject) format.calls = std::move(code);
  }
  if (!format.calls && known != all.end()) format = known->format;
  if (!format.calls) format = general_format();
  find_tags(format, source);
  if (!format.channels) add_marks_of_others(probe, traits, format);
  return format;
}

std::vector<std::pair<std::string, std::string>> listed(const OutputFormat& format) {
  constexpr std::array<const char*, 5> kArguments = {"in the object", "an object after the name", "in tags", "as code",
                                                     "a message"};
  const Json arguments = {{"KEY", "VALUE"}};
  const std::vector<WrittenCall> calls(2, WrittenCall{"NAME", arguments});
  const auto written = [&](size_t n_calls) {
    return json_text(written_calls(format, std::span(calls).first(n_calls)));
  };
  const std::string thoughts = format.channels ? "a channel" : "not marked";
  return {{"call_form", format.is_general ? "none is shown: the general one" : "the model's"},
          {"call_arguments", format.calls ? kArguments[static_cast<size_t>(format.calls->arguments)] : ""},
          {"written_call", written(1)},
          {"written_calls", format.calls && format.calls->is_single ? "one an answer" : written(2)},
          {"thoughts_marks",
           format.reasoning ? json_text(Json::array({format.reasoning->begin, format.reasoning->end})) : thoughts}};
}

}  // namespace realizar::text
