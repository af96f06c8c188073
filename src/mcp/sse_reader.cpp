#include "mcp/sse_reader.h"

#include <charconv>
#include <utility>

#include "base/utf8.h"

namespace realizar::mcp {
namespace {}  // namespace

Status SseReader::push(std::string_view bytes, const OnEvent& on_event) {
  while (!bytes.empty() && !is_over_) {
    // A CR that ends one piece and an LF that begins the next form a single line end.
    if (std::exchange(ended_in_cr_, false) && bytes[0] == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    const size_t end = bytes.find_first_of("\r\n");
    line_ += bytes.substr(0, end);
    if (line_.size() + data_.size() > max_bytes_) {
      return format_error("an event of the server's stream is longer than " + std::to_string(max_bytes_) + " bytes",
                          "answer");
    }
    if (end == std::string_view::npos) return {};
    ended_in_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    is_over_ = !take_line(on_event);
    line_.clear();
  }
  return {};
}

void SseReader::begin_again() {
  line_.clear();
  data_.clear();
  has_data_ = ended_in_cr_ = false;
  is_first_line_ = true;
}

bool SseReader::take_line(const OnEvent& on_event) {
  std::string_view line = line_;
  if (std::exchange(is_first_line_, false)) line = after_byte_order_mark(line);
  if (line.empty()) return dispatch(on_event);
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) {
    take_field(line, {});
  } else {
    std::string_view value = line.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    take_field(line.substr(0, colon), value);
  }
  return true;
}

// A line that begins with a colon is a comment: its field name is empty. Unknown fields are ignored.
void SseReader::take_field(std::string_view name, std::string_view value) {
  if (name == "data") {
    if (std::exchange(has_data_, true)) data_ += '\n';
    data_ += value;
  } else if (name == "id" && value.find('\0') == std::string_view::npos) {
    last_id_ = value;
  } else if (name == "retry") {
    int64_t ms = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), ms);
    const bool is_number = error == std::errc() && end == value.data() + value.size() && ms >= 0;
    if (is_number) retry_ = std::chrono::milliseconds(ms);
  }
}

bool SseReader::dispatch(const OnEvent& on_event) {
  const bool is_event = std::exchange(has_data_, false);
  const std::string data = std::exchange(data_, {});
  return !is_event || on_event(data);
}

}  // namespace realizar::mcp
