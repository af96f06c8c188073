#include "server/access_log.h"

#include <cerrno>
#include <cstring>

namespace realizar::server {

void AccessLog::Close::operator()(std::FILE* file) const {
  if (file != stderr) static_cast<void>(std::fclose(file));
}

Result<AccessLog> AccessLog::open(const std::string& path) {
  AccessLog log;
  if (path.empty()) return log;
  log.file_.reset(path == "-" ? stderr : std::fopen(path.c_str(), "ae"));
  if (log.file_ == nullptr) return invalid_argument(path + ": " + std::strerror(errno), "access_log");
  return log;
}

void AccessLog::write(const Json& line) {
  if (!is_on()) return;
  const std::string text = dump(line) + "\n";
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), file_.get()));
  static_cast<void>(std::fflush(file_.get()));
}

}  // namespace realizar::server
