// A running server of the same user, which other commands find by its socket (hub/user_folders.h): its models stay
// loaded between them.
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

// Requests over the socket, one at a time. Errors: what the server answers; Internal, subject "service", where it does
// not, or has gone; Cancelled after cancel().
class Service final : public Interruptible {
 public:
  // The running server; nullopt: there is none. A server of another version is left alone, with a line on standard
  // error that says so.
  static std::unique_ptr<Service> find();
  // The same for a command that needs a model. `option`: one that was given and that loads models in another way than
  // the server has; "": none. Where it is given there is no server for the command, with a line that says so.
  static std::unique_ptr<Service> find_for(const std::string& option);

  explicit Service(std::string socket) : socket_(std::move(socket)) {}

  // The JSON that the server answers to `body`, or to GET where that is null. It has to begin within time_ms; -1: at
  // some time.
  Result<nlohmann::ordered_json> ask(const std::string& path, const nlohmann::ordered_json& body, int time_ms = -1);
  // A stream of events: calls `on_event` with the data of each, until that gives false.
  Status stream(const std::string& path, const nlohmann::ordered_json& body,
                const std::function<bool(std::string_view data)>& on_event);
  // Has the server load a model: a file or folder, or a name. Gives what POST /service/models answers; its "id" names
  // the model in requests.
  Result<nlohmann::ordered_json> open_model(const std::string& given);
  // The name by which the server knows a model: the whole path of a file or folder, or a name as it is.
  static std::string name_of_model(const std::string& given);
  // Ends the request that is under way.
  void cancel() noexcept override;

  // The process that answers; 0: none does.
  int pid() const;

 private:
  class Exchange;

  const std::string socket_;
  std::atomic<int> fd_{-1};  // of the request that is under way
  std::atomic<bool> is_cancelled_{false};
};

}  // namespace realizar::cli
