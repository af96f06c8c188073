#include "text/output/output_parser.h"

#include <algorithm>
#include <iterator>

#include "text/output/call_section.h"
#include "text/output/formats/format.h"

namespace realizar::text {
namespace {

using Kind = OutputEvent::Kind;
using Match = TextWindow::Match;
using Progress = CallReader::Progress;

// A shorter part of a mark at the end of a cut answer is text.
constexpr size_t kLeastMarkBytes = 2;

enum class Action {
  kBeginReasoning,
  kEndReasoning,
  kBeginCalls,
  kBeginBareCalls,   // text with which unmarked calls begin
  kCallsInThoughts,  // a call if the thoughts never end
  kBeginWrapper,
  kEndWrapper,
  kDrop,
  kDropSpace,  // including the white space before it
  kDropAtEnd,  // if nothing follows
};

enum class Place {
  kAnywhere,
  kStart,  // before the first word
  kLineStart,
  kUnquoted,   // not after a quote
  kNoMention,  // not where text mentions the mark: not after a space or a quote
  kAfterCalls,
  kInWrapper,
};

struct Marker {
  std::string text;
  Action action = Action::kDrop;
  Place place = Place::kAnywhere;
  bool is_taken = true;  // false: it belongs to the part that it begins
};

// The marks with which calls begin. A plain-text mark begins them only if it is the first one, or another opener.
std::vector<std::string> section_begins(const CallForm& form) {
  const CallMarks marks = marks_of(form);
  std::vector<std::string> begins = form.other_openers;
  for (const std::string& opener : marks.openers) {
    if (!is_plain(opener)) begins.push_back(opener);
  }
  if (!marks.call_begin.empty()) begins.push_back(marks.call_begin);
  if (begins.empty() && !marks.openers.empty()) begins.push_back(marks.openers.front());
  return begins;
}

// The texts with which unmarked calls begin.
std::vector<std::string> bare_begins(const CallForm& form, const std::vector<ToolSpec>& tools) {
  using Arguments = CallForm::Arguments;
  if (form.arguments == Arguments::kMessage) return {"to="};
  std::vector<std::string> begins;
  if (form.arguments == Arguments::kInObject) begins = {"{", "["};
  if (form.arguments == Arguments::kLiteral) begins = {"[", "{"};
  if (form.arguments != Arguments::kObjectAfter) return begins;
  for (const ToolSpec& tool : tools) begins.push_back(tool.name + "\n");
  return begins;
}

void append_call_markers(const OutputFormat& format, const std::vector<ToolSpec>& tools, std::vector<Marker>& markers) {
  const CallMarks marks = marks_of(*format.calls);
  for (const std::string& text : section_begins(*format.calls)) {
    markers.push_back({text, Action::kBeginCalls, Place::kAnywhere, false});
  }
  if (format.calls->reads_bare || marks.is_bare) {
    for (const std::string& text : bare_begins(*format.calls, tools)) {
      const Place place = format.channels ? Place::kStart : text == "[" ? Place::kAnywhere : Place::kLineStart;
      markers.push_back({text, Action::kBeginBareCalls, place, false});
    }
  }
  for (const std::string& text : marks.closers) {
    if (!is_plain(text)) markers.push_back({text, Action::kDrop, Place::kAfterCalls});
  }
}

// Gemma may omit the word after "<|channel>".
std::string reasoning_opener(const OutputFormat& format) {
  const std::vector<std::string> marks = split_marks(format.reasoning->begin);
  return is_plain(marks.front()) ? format.reasoning->begin : marks.front();
}

std::vector<Marker> channel_begins() {
  return {{"<|start|>", Action::kBeginCalls, Place::kAnywhere, false},
          {"<|channel|>", Action::kBeginCalls, Place::kAnywhere, false}};
}

std::vector<Marker> content_markers(const OutputFormat& format, const std::vector<ToolSpec>& tools) {
  std::vector<Marker> markers;
  if (format.channels) {
    markers = channel_begins();
    for (const std::string& end : format.channels->ends) markers.push_back({end, Action::kDrop});
  }
  if (format.calls && (!tools.empty() || format.channels)) append_call_markers(format, tools, markers);
  if (format.reasoning) {
    markers.push_back({reasoning_opener(format), Action::kBeginReasoning, Place::kNoMention});
    markers.push_back({format.reasoning->end, Action::kDropSpace, Place::kNoMention});
  }
  for (const std::string& mark : format.stray_marks) markers.push_back({mark, Action::kDrop, Place::kUnquoted});
  for (const std::string& mark : format.turn_marks) {
    markers.push_back({mark, Action::kDropSpace, Place::kStart});
    markers.push_back({mark, Action::kDropAtEnd});
  }
  if (format.content_wrapper) {
    const auto& [begin, end] = *format.content_wrapper;
    const bool is_control = begin.starts_with("<|");
    markers.push_back({begin, Action::kBeginWrapper, is_control ? Place::kAnywhere : Place::kStart});
    if (!end.empty()) markers.push_back({end, Action::kEndWrapper, is_control ? Place::kAnywhere : Place::kInWrapper});
  }
  return markers;
}

std::vector<Marker> reasoning_markers(const OutputFormat& format, const std::vector<ToolSpec>& tools) {
  std::vector<Marker> markers;
  if (format.channels) {
    for (const std::string& end : format.channels->ends) markers.push_back({end, Action::kEndReasoning});
    for (Marker& marker : channel_begins()) markers.push_back(std::move(marker));
    return markers;
  }
  if (!format.reasoning) return markers;
  markers.push_back({format.reasoning->end, Action::kEndReasoning});
  for (const std::string& mark : split_marks(format.reasoning->begin)) {
    markers.push_back({mark, Action::kDropSpace, Place::kStart});
  }
  if (!format.calls || tools.empty()) return markers;
  for (const std::string& text : section_begins(*format.calls)) {
    markers.push_back({text, Action::kCallsInThoughts, Place::kAnywhere, false});
  }
  return markers;
}

CallReaderPtr make_reader(const OutputFormat& format, TextWindow& window, CallEmitter& emitter) {
  if (!format.calls) return nullptr;
  if (format.calls->arguments == CallForm::Arguments::kMessage) return make_message_reader(window, emitter);
  return std::make_unique<CallSection>(*format.calls, window, emitter);
}

std::string first_bytes_of(const std::vector<Marker>& markers) {
  std::string bytes(kJsonSpace);
  for (const Marker& marker : markers) bytes += marker.text.front();
  return bytes;
}

std::string without_space(std::string_view text) {
  std::string rest;
  std::ranges::copy_if(text, std::back_inserter(rest), [](char c) { return !is_json_space(c); });
  return rest;
}

// A state in which text is output until one of its markers.
struct TextState {
  TextState(Kind kind_, std::vector<Marker> markers_)
      : kind(kind_), markers(std::move(markers_)), stops(first_bytes_of(markers)) {}

  Kind kind;
  std::vector<Marker> markers;
  std::string stops;  // first bytes of white space and markers
};

}  // namespace

struct OutputParser::Impl {
  Impl(OutputFormat format_, const std::vector<ToolSpec>& tools_, bool starts_in_reasoning)
      : format(std::move(format_)),
        tools(tools_),
        emitter(tools),
        calls(make_reader(format, window, emitter)),
        content{Kind::kContent, content_markers(format, tools)},
        reasoning{Kind::kReasoning, reasoning_markers(format, tools)} {
    if (starts_in_reasoning) enter(reasoning);
  }

  void run() {
    while (true) {
      if (in_calls) {
        if (!read_calls()) return;
      } else if (const Marker* marker = next_marker()) {
        if (!act(*marker)) return;
      } else {
        return;
      }
    }
  }

  void finish(bool is_cut) {
    if (is_cut) finish_cut();
    if (!is_cut && in_calls && emitter.is_open()) {
      if (!calls->has_whole_arguments()) return;
      calls->close_arguments();
      emitter.end();
      return;
    }
    if (!is_cut) thoughts = Thoughts::kNeverEnd;
    window.end();
    run();
    if (in_calls && !emitter.is_open()) give_back();
    if (n_space < space.size()) space.resize(n_space);
    if (text_state == &content) write_text({});
  }

  // Outputs text up to the next marker; null if more text is needed first.
  const Marker* next_marker() {
    take_space();
    while (!window.empty()) {
      bool is_open = false;
      for (const Marker& marker : text_state->markers) {
        if (!applies(marker)) continue;
        const Match match = window.match(marker.text);
        if (match == Match::kYes) return &marker;
        is_open = is_open || match == Match::kOpen;
      }
      if (is_open) return nullptr;
      const std::string_view rest = window.rest();
      const size_t n_bytes = std::min(rest.find_first_of(text_state->stops, 1), rest.size());
      write_text(rest.substr(0, n_bytes));
      window.take(n_bytes);
      window.commit();
      take_space();
    }
    return nullptr;
  }

  bool applies(const Marker& marker) const {
    const bool has_begun = text_state == &content ? answered : has_thought;
    const char before = space.empty() ? last_byte : space.back();
    switch (marker.place) {
      case Place::kStart:
        return !has_begun;
      case Place::kLineStart:
        return !has_begun || before == '\n';
      case Place::kUnquoted:
        return std::string_view("`'\"").find(before) == std::string_view::npos;
      case Place::kNoMention:
        return !has_begun || !is_mention();
      case Place::kAfterCalls:
        return emitter.n_calls() > 0;
      case Place::kInWrapper:
        return is_wrapped;
      default:
        return marker.action != Action::kCallsInThoughts || thoughts != Thoughts::kEnd;
    }
  }

  bool is_mention() const {
    if (space.find('\n') != std::string::npos) return false;
    const char before = space.empty() ? last_byte : space.back();
    return std::string_view(" \t`'\"").find(before) != std::string_view::npos;
  }

  void take_space() {
    const std::string_view rest = window.rest();
    const size_t n_bytes = std::min(rest.find_first_not_of(kJsonSpace), rest.size());
    if (!drops_space) space += rest.substr(0, n_bytes);
    window.take(n_bytes);
    window.commit();
    const auto may_follow = [&](const Marker& marker) { return applies(marker); };
    if (!drops_space && std::ranges::none_of(text_state->markers, may_follow)) write_text({});
  }

  void write_text(std::string_view text) {
    emitter.text(text_state->kind, space);
    emitter.text(text_state->kind, text);
    space.clear();
    n_space = std::string::npos;
    drops_space = false;
    if (text.empty()) return;
    last_byte = text.back();
    (text_state == &content ? answered : has_thought) = true;
  }

  // False if more text is needed first.
  bool act(const Marker& marker) {
    if (marker.action == Action::kCallsInThoughts) return take_thoughts(marker);
    if (marker.action == Action::kDrop) emitter.text(text_state->kind, std::exchange(space, {}));
    if (marker.is_taken) window.take(marker.text.size());
    switch (marker.action) {
      case Action::kBeginReasoning:
        has_thought = false;
        enter(reasoning);
        break;
      case Action::kEndReasoning:
        thoughts = Thoughts::kOpen;
        enter(content);
        break;
      case Action::kBeginWrapper:
      case Action::kEndWrapper:
        is_wrapped = marker.action == Action::kBeginWrapper;
        enter(content);
        break;
      case Action::kBeginCalls:
      case Action::kBeginBareCalls:
        start_calls(marker.action == Action::kBeginCalls);
        break;
      case Action::kDropSpace:
        enter(*text_state);
        break;
      case Action::kDropAtEnd:
        n_space = std::min(n_space, space.size());
        space += marker.text;
        drops_space = false;
        window.commit();
        break;
      default:
        window.commit();
    }
    return true;
  }

  void enter(TextState& state) {
    window.commit();
    space.clear();
    n_space = std::string::npos;
    text_state = &state;
    drops_space = true;
  }

  // There is a mark of calls in thoughts: they are read as thoughts once their end is found.
  bool take_thoughts(const Marker& marker) {
    if (thoughts == Thoughts::kNeverEnd) {
      if (has_whole_call()) {
        start_calls(true);
      } else {
        window.take(marker.text.size());
        write_text(marker.text);
        window.commit();
      }
      return true;
    }
    const std::string& end = format.reasoning->end;
    const std::string_view rest = window.rest();
    if (rest.find(end, n_searched) != std::string_view::npos) {
      thoughts = Thoughts::kEnd;
      n_searched = 0;
      return true;
    }
    n_searched = rest.size() - std::min(rest.size(), end.size() - 1);
    return false;
  }

  // Whether the section that begins here has a complete call of a known tool.
  bool has_whole_call() {
    constexpr size_t kMaxTriedTimes = 4;
    const std::string_view rest = window.rest();
    if (n_tried_bytes > kMaxTriedTimes * rest.size()) return false;
    TextWindow tried;
    tried.append(rest);
    tried.end();
    CallEmitter heard(tools);
    heard.set_known_only(true);
    const CallReaderPtr reader = make_reader(format, tried, heard);
    reader->start(true);
    (void)reader->read();
    n_tried_bytes += rest.size() - tried.rest().size();
    return heard.n_calls() > (heard.is_open() ? 1 : 0);
  }

  void start_calls(bool with_mark) {
    in_calls = true;
    is_marked = with_mark;
    n_calls_before = emitter.n_calls();
    const bool in_thoughts = text_state == &reasoning && !format.channels;
    emitter.set_known_only(in_thoughts || (!with_mark && answered));
    if (text_state == &reasoning && format.channels) enter(content);
    calls->start(with_mark);
  }

  // False if more text is needed first.
  bool read_calls() {
    const Progress progress = calls->read();
    if (emitter.n_calls() > n_calls_before) space.clear();
    if (progress == Progress::kNeedMore) return false;
    end_calls(progress);
    return true;
  }

  void end_calls(Progress progress) {
    in_calls = false;
    if (progress == Progress::kReject) return give_back();
    if (progress == Progress::kReasoning) enter(reasoning);
    if (progress == Progress::kContent) enter(content);
    if (progress == Progress::kEnd) enter(*text_state);
    drops_space = progress != Progress::kContent;
    if (progress != Progress::kEnd || text_state == &content) return;
    drops_space = false;  // the thoughts continue
    space = "\n";
  }

  void give_back() {
    const bool has_called = emitter.n_calls() > n_calls_before;
    if (emitter.is_open()) {
      calls->close_arguments();
      emitter.end();
    }
    std::string text = window.give_back();
    if (text.empty() && !has_called && !window.empty()) {
      // The marker by itself was not a beginning: its first byte is text, so that it is not found again.
      window.take(1);
      text = window.give_back();
    }
    if (has_called) text.erase(0, std::min(text.find_first_not_of(kJsonSpace), text.size()));
    if (!text.empty()) {
      write_text(text);
    } else if (has_called) {
      drops_space = true;
    }
  }

  // Text that was cut off while it might have become a call is dropped.
  void finish_cut() {
    thoughts = Thoughts::kEnd;
    if (in_calls) {
      if (emitter.is_open() || drops_cut_calls()) {
        window.take(window.rest().size());
        window.commit();
        in_calls = false;
      }
      return;
    }
    const std::string_view rest = window.rest();
    const auto begins = [&](const Marker& marker) { return applies(marker) && marker.text.starts_with(rest); };
    if (rest.size() < kLeastMarkBytes || std::ranges::none_of(text_state->markers, begins)) return;
    window.take(rest.size());
    window.commit();
  }

  bool drops_cut_calls() const {
    const bool is_after_call = emitter.n_calls() > n_calls_before;  // ";" may have been read
    if (is_marked || is_after_call) return true;
    const std::string text = std::string(window.taken()).append(window.rest());
    return std::ranges::any_of(tools, [&](const ToolSpec& tool) { return may_become_call(text, tool); });
  }

  // Whether the text names the tool, or is the beginning of a call of it in the model's form.
  bool may_become_call(std::string_view text, const ToolSpec& tool) const {
    if (text.find(tool.name) != std::string_view::npos) return true;
    const CallForm& form = *format.calls;
    const std::string begun = without_space(text);
    return begun.size() >= kLeastMarkBytes && without_space(form.first + form.open + tool.name).starts_with(begun);
  }

  OutputFormat format;
  std::vector<ToolSpec> tools;
  TextWindow window;
  CallEmitter emitter;
  CallReaderPtr calls;
  TextState content;
  TextState reasoning;
  TextState* text_state = &content;
  bool in_calls = false;
  bool is_marked = false;              // the current section of calls began with a mark
  size_t n_calls_before = 0;           // before this section
  std::string space;                   // trailing white space that is dropped if a marker follows
  size_t n_space = std::string::npos;  // length of `space` before a mark that may end the answer
  char last_byte = '\n';               // of the text that was output
  bool drops_space = false;            // white space that follows belongs to the marker before it
  bool answered = false;               // the answer has begun
  bool has_thought = false;            // the thoughts have begun
  bool is_wrapped = false;             // the content's wrapper is open
  // If thoughts contain the mark of a call, their end decides whether the call is made.
  enum class Thoughts { kOpen, kEnd, kNeverEnd } thoughts = Thoughts::kOpen;
  size_t n_searched = 0;     // bytes of the window already searched for the end of thoughts
  size_t n_tried_bytes = 0;  // bytes already searched for a complete call in thoughts that never end
};

OutputParser::OutputParser(const OutputFormat& format, std::vector<ToolSpec> tools, bool starts_in_reasoning)
    : impl_(std::make_unique<Impl>(format, tools, starts_in_reasoning)) {}
OutputParser::~OutputParser() = default;
OutputParser::OutputParser(OutputParser&&) noexcept = default;
OutputParser& OutputParser::operator=(OutputParser&&) noexcept = default;

std::vector<OutputEvent> OutputParser::push(std::string_view text) {
  impl_->window.append(text);
  impl_->run();
  return impl_->emitter.take_events();
}

std::vector<OutputEvent> OutputParser::finish(bool is_cut) {
  impl_->finish(is_cut);
  return impl_->emitter.take_events();
}

}  // namespace realizar::text
