// The internals of LanguageModel, for other classes of the library.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "api/found_model.h"
#include "api/loaded_model.h"
#include "backend/backend.h"
#include "engine/op_table.h"
#include "realizar/engine.h"

namespace realizar {

// Traced operations of a model's steps: both summed by operation and phase, and single ones.
class TraceLog {
 public:
  explicit TraceLog(uint64_t start_ns) : start_ns_(start_ns) {}

  // Any thread, as for all functions here.
  void add(const engine::StepTokens& tokens, std::span<const OpTiming> timings);
  void clear();
  Trace trace() const;
  std::vector<TraceEvent> events() const;

 private:
  struct Step {
    uint32_t n_tokens;
    std::vector<OpTiming> timings;
  };

  const uint64_t start_ns_;
  mutable std::mutex mutex_;  // taken only by traced steps
  engine::OpTable table_;
  std::vector<Step> steps_;
};

struct LanguageModel::Impl {
  Impl(std::unique_ptr<LoadedModel> model, uint64_t start_ns) : loaded(std::move(model)), trace(start_ns) {}
  ~Impl() {
    if (session_end.joinable()) session_end.join();
  }

  // Marks the end of a call that runs or changes the model.
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

  // Errors: InvalidArgument if a session has the model, or another call is running (perhaps the one whose callback this
  // is).
  Result<Call> begin_call();
  Status begin_session();
  // Switches recording of the following steps' operations on or off. On the engine's thread.
  void trace_steps(bool on);
  static Impl& of(const LanguageModel& model) { return *model.impl_; }
};

}  // namespace realizar
