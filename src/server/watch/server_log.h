// What the program says of itself while it serves, through spdlog too: on standard output, by a thread of its own, so
// that a reader who sleeps stops nothing.
#pragma once

#include <memory>
#include <string>

#include "server/watch/line_writer.h"

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

  // The line alone, without a time or level.
  void write(std::string line) { writer_->write(std::move(line)); }

 private:
  std::shared_ptr<LineWriter> writer_;
  std::shared_ptr<spdlog::logger> before_;
};

}  // namespace realizar::server
