// MCP's stdio transport: starts a program, and exchanges one JSON-RPC message per line
// (https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio). Output that is not a message is
// ignored.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "mcp/program.h"
#include "mcp/transport.h"

namespace realizar::mcp {

class StdioTransport final : public Transport {
 public:
  // Receives a printable line. Any thread.
  using Tell = std::function<void(const std::string& line)>;

  // Starts the program. If that fails, every call returns the error of Program::start. `log` receives each line of its
  // standard error; `warn` is called for a slow start, an unexpected end and violations of the protocol.
  StdioTransport(const ProgramSource& source, Tell log, Tell warn);
  ~StdioTransport() override;
  StdioTransport(const StdioTransport&) = delete;
  StdioTransport& operator=(const StdioTransport&) = delete;

  // Errors after the program's end: NotFound, with its last lines.
  Result<Answer> ask(const Session& session, const Outgoing& request, const Patience& patience) override;
  Status tell(const Session& session, const std::string& message, const Patience& patience) override;
  void end(const Session& session, const Patience& patience) override;

 private:
  void take_line(std::string_view line);
  void take_message(Message& message);
  void fail_all(Error error);
  void take_error_line(std::string_view line);
  void take_end(const std::string& how);
  Result<Answer> wait_for(uint64_t id, bool is_first, const Patience& patience);

  const Tell log_, warn_;
  std::mutex mutex_;  // guards everything except the program
  std::condition_variable news_;
  std::map<uint64_t, std::optional<Result<Answer>>> asked_;
  int n_server_requests_ = 0;  // since our last request
  bool has_told_of_noise_ = false, is_ending_ = false;
  Status status_;                       // not ok after the end
  std::deque<std::string> last_words_;  // lines of its standard error
  std::unique_ptr<Program> program_;    // the last member: its thread uses the others
};

}  // namespace realizar::mcp
