#include "text/output/output_parser.h"

#include <algorithm>

#include "text/output/formats/format.h"

namespace realizar::text {
namespace {

using Kind = OutputEvent::Kind;
using Match = TextWindow::Match;
using Progress = CallReader::Progress;

enum class Action { kBeginReasoning, kEndReasoning, kBeginCalls, kBeginWrapper, kEndWrapper, kDrop };

struct Marker {
  std::string text;
  Action action = Action::kDrop;
  bool is_taken = true;        // else it is the first part of what it begins
  bool only_at_start = false;  // before the answer's first word
};

void append_call_markers(const FormatSpec& spec, std::vector<Marker>& markers) {
  for (const std::string& text : spec.markers.opening) markers.push_back({text, Action::kBeginCalls});
  for (const std::string& text : spec.markers.leading) markers.push_back({text, Action::kBeginCalls, false});
}

std::vector<Marker> content_markers(const OutputFormat& format, const FormatSpec* spec, bool has_tools) {
  std::vector<Marker> markers;
  if (spec != nullptr && (has_tools || spec->channels)) {
    append_call_markers(*spec, markers);
    for (const std::string& text : spec->markers.bare) markers.push_back({text, Action::kBeginCalls, false, true});
  }
  if (spec != nullptr && spec->channels) {
    for (const std::string& end : spec->channels->ends) markers.push_back({end, Action::kDrop});
  }
  if (format.reasoning) markers.push_back({format.reasoning->begin, Action::kBeginReasoning, true, true});
  if (format.content_wrapper) {
    markers.push_back({format.content_wrapper->begin, Action::kBeginWrapper, true, true});
    markers.push_back({format.content_wrapper->end, Action::kEndWrapper});
  }
  return markers;
}

std::vector<Marker> reasoning_markers(const OutputFormat& format, const FormatSpec* spec) {
  std::vector<Marker> markers;
  if (spec != nullptr && spec->channels) {
    for (const std::string& end : spec->channels->ends) markers.push_back({end, Action::kEndReasoning});
    append_call_markers(*spec, markers);
  } else if (format.reasoning) {
    markers.push_back({format.reasoning->end, Action::kEndReasoning});
  }
  return markers;
}

std::string first_bytes_of(const std::vector<Marker>& markers) {
  std::string bytes(kJsonSpace);
  for (const Marker& marker : markers) bytes += marker.text.front();
  return bytes;
}

// A state in which text flows until one of its markers.
struct TextState {
  TextState(Kind kind_, std::vector<Marker> markers_)
      : kind(kind_), markers(std::move(markers_)), stops(first_bytes_of(markers)) {}

  Kind kind;
  std::vector<Marker> markers;
  std::string stops;  // bytes that white space or a marker begins with
};

}  // namespace

struct OutputParser::Impl {
  // `spec`: of the format's tools; null where there are none.
  Impl(const OutputFormat& format, const FormatSpec* spec, std::vector<ToolSpec> tools, bool starts_in_reasoning)
      : emitter(std::move(tools)),
        calls(spec == nullptr ? nullptr : spec->make_reader(window, emitter)),
        content(Kind::kContent, content_markers(format, spec, emitter.has_tools())),
        reasoning(Kind::kReasoning, reasoning_markers(format, spec)),
        drops_space(starts_in_reasoning) {
    if (starts_in_reasoning) text_state = &reasoning;
  }

  void run();
  void finish();
  const Marker* next_marker();
  bool applies(const Marker& marker) const;
  void take_space();
  void write_text(std::string_view text);
  void act(const Marker& marker);
  void enter(TextState& state);
  void start_calls();
  bool read_calls();
  void end_calls(Progress progress);
  void give_back();

  TextWindow window;
  CallEmitter emitter;
  std::unique_ptr<CallReader> calls;
  TextState content;
  TextState reasoning;
  TextState* text_state = &content;
  bool in_calls = false;
  size_t n_calls_before = 0;  // this section
  std::string space;          // white space that came last and is dropped if a marker follows
  bool drops_space = false;   // white space that comes next belongs to the marker before it
  bool answered = false;      // the answer has begun
  bool is_wrapped = false;    // the content's wrapper is open
};

void OutputParser::Impl::run() {
  while (true) {
    if (in_calls) {
      if (!read_calls()) return;
    } else if (const Marker* marker = next_marker()) {
      act(*marker);
    } else {
      return;
    }
  }
}

// Gives out text up to the marker that follows; null if more text must come first.
const Marker* OutputParser::Impl::next_marker() {
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

bool OutputParser::Impl::applies(const Marker& marker) const {
  if (marker.action == Action::kEndWrapper) return is_wrapped;
  return !marker.only_at_start || !answered;
}

void OutputParser::Impl::take_space() {
  const std::string_view rest = window.rest();
  const size_t n_bytes = std::min(rest.find_first_not_of(kJsonSpace), rest.size());
  if (!drops_space) space += rest.substr(0, n_bytes);
  window.take(n_bytes);
  window.commit();
  const auto may_follow = [&](const Marker& marker) { return applies(marker); };
  if (!drops_space && std::none_of(text_state->markers.begin(), text_state->markers.end(), may_follow)) write_text({});
}

void OutputParser::Impl::write_text(std::string_view text) {
  emitter.text(text_state->kind, space);
  emitter.text(text_state->kind, text);
  space.clear();
  drops_space = false;
  if (text_state == &content && !text.empty()) answered = true;
}

void OutputParser::Impl::act(const Marker& marker) {
  if (marker.action == Action::kDrop) emitter.text(text_state->kind, std::exchange(space, {}));
  if (marker.is_taken) window.take(marker.text.size());
  switch (marker.action) {
    case Action::kBeginReasoning:
      return enter(reasoning);
    case Action::kEndReasoning:
      return enter(content);
    case Action::kBeginWrapper:
    case Action::kEndWrapper:
      is_wrapped = marker.action == Action::kBeginWrapper;
      return enter(content);
    case Action::kBeginCalls:
      return start_calls();
    case Action::kDrop:
      return window.commit();
  }
}

void OutputParser::Impl::enter(TextState& state) {
  window.commit();
  space.clear();
  text_state = &state;
  drops_space = true;
}

void OutputParser::Impl::start_calls() {
  if (text_state == &reasoning) enter(content);
  in_calls = true;
  n_calls_before = emitter.n_calls();
  calls->start();
}

// False if more text must come first.
bool OutputParser::Impl::read_calls() {
  const Progress progress = calls->read();
  if (emitter.n_calls() > n_calls_before) space.clear();
  if (progress == Progress::kNeedMore) return false;
  end_calls(progress);
  return true;
}

void OutputParser::Impl::end_calls(Progress progress) {
  in_calls = false;
  if (progress == Progress::kReject) return give_back();
  enter(progress == Progress::kReasoning ? reasoning : content);
  drops_space = progress != Progress::kContent;
}

void OutputParser::Impl::give_back() {
  const bool has_called = emitter.n_calls() > n_calls_before;
  if (emitter.is_open()) {
    calls->close_arguments();
    emitter.end();
  }
  std::string text = window.give_back();
  if (text.empty() && !has_called && !window.empty()) {
    // The marker alone was no beginning: its first byte is text, so that it is not found again.
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

void OutputParser::Impl::finish() {
  if (in_calls && emitter.is_open()) {
    calls->close_arguments();
    emitter.end();
    return;
  }
  window.end();
  run();
  if (in_calls) give_back();
  if (text_state == &content) write_text({});
}

OutputParser::OutputParser(const OutputFormat& format, std::vector<ToolSpec> tools, bool starts_in_reasoning)
    : impl_(std::make_unique<Impl>(format, spec_of(format.tools), std::move(tools), starts_in_reasoning)) {}
OutputParser::~OutputParser() = default;
OutputParser::OutputParser(OutputParser&&) noexcept = default;
OutputParser& OutputParser::operator=(OutputParser&&) noexcept = default;

std::vector<OutputEvent> OutputParser::push(std::string_view text) {
  impl_->window.append(text);
  impl_->run();
  return impl_->emitter.take_events();
}

std::vector<OutputEvent> OutputParser::finish() {
  impl_->finish();
  return impl_->emitter.take_events();
}

}  // namespace realizar::text
