// What a LanguageModel is made of, for the other classes of the library.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "api/chat_beginning.h"
#include "api/loaded_model.h"
#include "api/trace_log.h"
#include "realizar/engine.h"

namespace realizar {

struct LanguageModel::Impl {
  Impl(std::unique_ptr<LoadedModel> model, uint64_t start_ns) : loaded(std::move(model)), trace(start_ns) {}
  ~Impl() {
    if (session_end.joinable()) session_end.join();
  }

  // A call that runs or changes the model, until it is destroyed.
  struct CallEnd {
    void operator()(std::atomic<bool>* is_calling) const { *is_calling = false; }
  };
  using Call = std::unique_ptr<std::atomic<bool>, CallEnd>;

  std::unique_ptr<LoadedModel> loaded;
  ChatBeginning beginning;
  TraceLog trace;
  std::atomic<bool> has_session{false}, has_call{false};
  std::mutex session_mutex;  // held while a session begins, and while generations are cancelled
  std::thread session_end;   // ends a session that was destroyed in its own callback

  // Errors: InvalidArgument where a session has the model, or another call runs, of whose callbacks this may be one.
  Result<Call> begin_call();
  Status begin_session();
  // Records the operations of the steps that follow, or no more. On the engine's thread.
  void trace_steps(bool on);
  static Impl& of(const LanguageModel& model) { return *model.impl_; }
};

}  // namespace realizar
