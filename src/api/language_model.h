// What a LanguageModel is made of, for the other classes of the library.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "api/chat_beginning.h"
#include "api/loaded_model.h"
#include "api/trace_log.h"
#include "realizar/engine.h"

namespace realizar {

struct LanguageModel::Impl {
  Impl(std::unique_ptr<LoadedModel> model, uint64_t start_ns) : loaded(std::move(model)), trace(start_ns) {}

  std::unique_ptr<LoadedModel> loaded;
  ChatBeginning beginning;
  TraceLog trace;
  std::atomic<bool> has_session{false};
  std::mutex session_mutex;  // held while a session begins, and while generations are cancelled

  // Errors: InvalidArgument where a session has the model.
  Status begin_session();
  Status require_no_session() const;
  static Impl& of(const LanguageModel& model) { return *model.impl_; }
};

}  // namespace realizar
