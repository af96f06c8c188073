// Server-sent events (WHATWG HTML, section 9.2): bytes in pieces of any size in, the data of each event out.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "realizar/result.h"

namespace realizar::mcp {

class SseReader {
 public:
  // An event, and any line, may have `max_bytes`.
  explicit SseReader(size_t max_bytes) : max_bytes_(max_bytes) {}

  // False: no more is wanted.
  using OnEvent = std::function<bool(std::string_view data)>;
  // Tells the events that the bytes complete. Errors: FormatError for what is too long.
  Status push(std::string_view bytes, const OnEvent& on_event);

  // The stream broke, and another goes on with it: what was not whole is lost, and the last id stays.
  void begin_again();

  // Of the last event that had one; where a broken stream may be taken up again.
  const std::string& last_id() const { return last_id_; }
  // How long to wait before that, if the server has said it.
  std::optional<std::chrono::milliseconds> retry() const { return retry_; }

 private:
  bool take_line(const OnEvent& on_event);
  void take_field(std::string_view name, std::string_view value);
  bool dispatch(const OnEvent& on_event);

  size_t max_bytes_;
  std::string line_, data_, last_id_;
  bool has_data_ = false, ended_in_cr_ = false, is_first_line_ = true, is_over_ = false;
  std::optional<std::chrono::milliseconds> retry_;
};

}  // namespace realizar::mcp
