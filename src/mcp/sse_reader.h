// Parses server-sent events (WHATWG HTML, section 9.2): takes bytes in pieces of any size, returns the data of each
// event.
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
  // `max_bytes`: limit for an event, and for any line.
  explicit SseReader(size_t max_bytes) : max_bytes_(max_bytes) {}

  // False: no more events are needed.
  using OnEvent = std::function<bool(std::string_view data)>;
  // Reports the events that the bytes complete. Errors: FormatError if one is too long.
  Status push(std::string_view bytes, const OnEvent& on_event);

  // Call when the stream broke and another continues it: an incomplete event is dropped, and the last id is kept.
  void begin_again();

  // The id of the last event that had one; where a broken stream can be resumed.
  const std::string& last_id() const { return last_id_; }
  // The delay before that, if the server has set one.
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
