// Collects events: joins adjacent ones of the same kind, numbers calls, and only lets calls of tools begin.
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
  // Whether a call may have this name: a tool's, or any other valid name if there are tools. The caller that runs the
  // calls tells the model about missing tools.
  bool may_call(std::string_view name) const;
  // From now on only existing tools may be called.
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
  size_t n_calls_ = 0;  // that have begun
  bool is_open_ = false;
  bool known_only_ = false;
};

}  // namespace realizar::text
