// What the program says of itself, through spdlog, while it serves: on standard output, by a thread of its own, so that
// a reader who sleeps stops nothing.
#pragma once

#include <memory>

#include "server/line_writer.h"

namespace spdlog {
class logger;
}

namespace realizar::server {

class ServerLog {
 public:
  ServerLog();
  ~ServerLog();  // what was before is used again
  ServerLog(const ServerLog&) = delete;
  ServerLog& operator=(const ServerLog&) = delete;

 private:
  std::shared_ptr<spdlog::logger> before_;
};

}  // namespace realizar::server
