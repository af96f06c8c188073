#include "server/access_log.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace realizar::server {
namespace {

void tell_loss(const std::string& reason) {
  spdlog::error("lines of the access log are lost; realizar_access_log_lost_lines_total counts them ({})", reason);
}

// Terminals take some characters above ASCII for commands too (U+0080 to U+009F), and DEL. They stand inside strings
// only, where JSON has another spelling.
std::string with_escaped_controls(const std::string& json) {
  std::string text;
  text.reserve(json.size());
  for (size_t i = 0; i < json.size(); ++i) {
    const auto byte = static_cast<uint8_t>(json[i]);
    const auto next = static_cast<uint8_t>(i + 1 < json.size() ? json[i + 1] : 0);
    if (byte == 0x7f) {
      text += "\\u007f";
    } else if (byte == 0xc2 && next >= 0x80 && next <= 0x9f) {
      text += fmt::format("\\u{:04x}", next);
      ++i;
    } else {
      text += json[i];
    }
  }
  return text;
}

}  // namespace

Result<AccessLog> AccessLog::open(const std::string& path) {
  AccessLog log;
  if (path.empty()) return log;
  RZ_TRY(log.writer_, LineWriter::open(path, tell_loss));
  return log;
}

void AccessLog::write(const Json& line) {
  if (is_on()) writer_->write(with_escaped_controls(dump(line)));
}

}  // namespace realizar::server
