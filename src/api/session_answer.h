// Answers that a session runs for another class: it submits streams to the session's engine and processes their events
// on the session's thread, along with the requests of Session::submit.
#pragma once

#include <functional>
#include <memory>

#include "api/loaded_model.h"
#include "engine/engine_thread.h"
#include "realizar/session.h"

namespace realizar {

class SessionAnswer {
 public:
  virtual ~SessionAnswer() = default;
  // Called on the session's thread: first at the beginning, then after each call of begin_answer's `call_again`. False:
  // it has ended, and the session drops it. Must not throw.
  virtual bool go_on() = 0;
  // Any thread: requests an early end. go_on is called after it.
  virtual void cancel() = 0;
};

// The parts of a session that such answers use.
struct SessionParts {
  LoadedModel& model;
  engine::EngineThread& thread;

  static SessionParts of(const Session& session);
  // Begins the answer that `make` creates. `call_again` schedules go_on; the thread that finds a stream of the session
  // ready calls it. Errors: those of `make`.
  using Make = std::function<Result<std::shared_ptr<SessionAnswer>>(std::function<void()> call_again)>;
  static Result<RequestId> begin_answer(const Session& session, const Make& make);
};

}  // namespace realizar
