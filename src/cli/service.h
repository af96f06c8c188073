// A running server of the same user, which other commands find by its socket (hub/user_folders.h): its models stay
// loaded between commands.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "cli/interrupt.h"
#include "realizar/result.h"

namespace realizar::cli {

// Sends requests over the socket, one at a time. Errors: the server's; Internal, subject "service", if it does not
// answer, or has ended; Cancelled after cancel().
class Service final : public Interruptible {
 public:
  // The running server; null: none. A server with another version is ignored, with a line on standard error that says
  // so.
  static std::unique_ptr<Service> find();
  // Likewise for a command that needs a model. `option`: a given option that loads models differently from the server;
  // "": none. If it is set, no server is used, and a line says so.
  static std::unique_ptr<Service> find_for(const std::string& option);

  explicit Service(std::string socket) : socket_(std::move(socket)) {}

  // The server's JSON answer to `body`, or to GET if that is null. The answer must begin within time_ms; -1: no limit.
  Result<nlohmann::ordered_json> ask(const std::string& path, const nlohmann::ordered_json& body, int time_ms = -1);
  // A stream of events: calls `on_event` with the data of each, until that returns false.
  Status stream(const std::string& path, const nlohmann::ordered_json& body,
                const std::function<bool(std::string_view data)>& on_event);
  // Makes the server load a model: a file or folder, or a name. Returns the answer of POST /service/models; its "id"
  // names the model in requests.
  Result<nlohmann::ordered_json> open_model(const std::string& given);
  // The server's name for a model: the full path of a file or folder, or a name unchanged.
  static std::string name_of_model(const std::string& given);
  // Ends the current request.
  void cancel() noexcept override;

  // The process that answers; 0: none.
  int pid() const;

 private:
  class Exchange;

  const std::string socket_;
  std::atomic<int> fd_{-1};  // of the current request
  std::atomic<bool> is_cancelled_{false};
};

}  // namespace realizar::cli
