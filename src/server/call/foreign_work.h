// Requests to other servers, such as MCP servers and hubs of models, on separate threads: an answer may take a minute.
// I/O thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "realizar/result.h"
#include "server/call/call.h"
#include "server/http/json.h"
#include "server/http/shared_slots.h"
#include "server/http/task_thread.h"

namespace realizar::server {

inline constexpr const char* kForeignSlots = "foreign slots";  // the subject of errors if there are none

// Signals the call an update when it has ended. If the call ends earlier, or the work gives way to another tenant, the
// request is cancelled, and nobody waits for it. In the second case, and if there is no slot, the result is
// ResourceExhausted, subject kForeignSlots.
class ForeignWork {
 public:
  using Work = std::function<Result<Json>(const std::atomic<bool>& cancelled)>;
  // Throws std::system_error if the system gives no thread.
  ForeignWork(Call& call, Work work, SharedSlots& slots);
  ~ForeignWork();
  ForeignWork(const ForeignWork&) = delete;
  ForeignWork& operator=(const ForeignWork&) = delete;

  bool is_done() const { return state_->result.has_value(); }
  Result<Json> take() { return std::move(*state_->result); }  // once it is done

 private:
  struct State {
    std::atomic<bool> cancelled{false};
    // For the I/O thread only.
    std::optional<Result<Json>> result;
    Call* call;  // null: it is gone
  };
  static void end(State& state, Result<Json> result);

  std::shared_ptr<State> state_;
  std::unique_ptr<TaskThread> thread_;
};

// Sends the result of the work, or the error as `spell` has it.
Task<Status> answer_by(Call& call, ForeignWork::Work work, SharedSlots& slots, ApiError (*spell)(const Error&));

}  // namespace realizar::server
