// Gathers events: joins neighbours of one kind, numbers calls, and lets only calls of tools begin.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "text/output/output_parser.h"

namespace realizar::text {

class CallEmitter {
 public:
  explicit CallEmitter(std::vector<ToolSpec> tools) : tools_(std::move(tools)) {}

  bool has_tools() const { return !tools_.empty(); }
  const ToolSpec* find_tool(std::string_view name) const;
  // Whether a call may have this name: a tool's, or another that a tool could have, where there are tools at all. Who
  // makes the calls tells the model of a tool that is not there.
  bool may_call(std::string_view name) const;
  // From now on only tools that are there may be called.
  void set_known_only(bool known_only) { known_only_ = known_only; }

  void text(OutputEvent::Kind kind, std::string_view text);
  // Begins a call; false if none may have that name.
  bool begin(std::string_view name);
  void arguments(std::string_view json);
  void end();

  bool is_open() const { return is_open_; }
  size_t n_calls() const { return n_calls_; }
  std::vector<OutputEvent> take_events() { return std::exchange(events_, {}); }

 private:
  void append(OutputEvent::Kind kind, size_t call_idx, std::string_view text);

  std::vector<ToolSpec> tools_;
  std::vector<OutputEvent> events_;
  size_t n_calls_ = 0;  // begun
  bool is_open_ = false;
  bool known_only_ = false;
};

}  // namespace realizar::text
