#include "text/output/call_emitter.h"

#include <algorithm>

namespace realizar::text {

using Kind = OutputEvent::Kind;

const ToolSpec* CallEmitter::find_tool(std::string_view name) const {
  const auto tool = std::find_if(tools_.begin(), tools_.end(), [&](const ToolSpec& one) { return one.name == name; });
  return tool == tools_.end() ? nullptr : &*tool;
}

bool CallEmitter::may_call(std::string_view name) const {
  // Tool names of other programs may contain dots.
  const auto may_stand = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' ||
           c == '.';
  };
  if (find_tool(name) != nullptr) return true;
  return !known_only_ && has_tools() && !name.empty() && name.size() <= kMaxToolNameBytes &&
         std::ranges::all_of(name, may_stand);
}

void CallEmitter::text(Kind kind, std::string_view text) {
  append(kind, 0, text);
}

bool CallEmitter::begin(std::string_view name) {
  if (!may_call(name)) return false;
  events_.push_back({Kind::kToolCallBegin, n_calls_, std::string(name)});
  ++n_calls_;
  is_open_ = true;
  return true;
}

void CallEmitter::arguments(std::string_view json) {
  append(Kind::kToolCallArguments, n_calls_ - 1, json);
}

void CallEmitter::end() {
  events_.push_back({Kind::kToolCallEnd, n_calls_ - 1, {}});
  is_open_ = false;
}

void CallEmitter::append(Kind kind, size_t call_idx, std::string_view text) {
  if (text.empty()) return;
  if (!events_.empty() && events_.back().kind == kind && events_.back().call_idx == call_idx) {
    events_.back().text += text;
  } else {
    events_.push_back({kind, call_idx, std::string(text)});
  }
}

}  // namespace realizar::text
