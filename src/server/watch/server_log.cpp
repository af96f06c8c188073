#include "server/watch/server_log.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <mutex>

namespace realizar::server {
namespace {

class Sink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit Sink(std::shared_ptr<LineWriter> writer) : writer_(std::move(writer)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    while (line.size() > 0 && line[line.size() - 1] == '\n') line.resize(line.size() - 1);
    writer_->write(std::string(line.data(), line.size()));
  }
  void flush_() override {}

  const std::shared_ptr<LineWriter> writer_;
};

}  // namespace

// There is nowhere to tell that lines of this log are lost.
ServerLog::ServerLog()
    : writer_(LineWriter::over(STDOUT_FILENO, "standard output", [](const std::string&) {})),
      before_(spdlog::default_logger()) {
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("", std::make_shared<Sink>(writer_)));
}

ServerLog::~ServerLog() {
  spdlog::set_default_logger(before_);
}

}  // namespace realizar::server
