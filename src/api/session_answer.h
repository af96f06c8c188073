// Answers of a session that are not its own kind: whoever makes them submits streams to the session's engine, and takes
// their news on the session's thread, beside the requests of Session::submit.
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
  // On the session's thread: first when it begins, then whenever `call_again` of begin_answer was called. False: it is
  // over, and the session forgets it. Must not throw.
  virtual bool go_on() = 0;
  // Any thread: it is to end soon. go_on is called after it.
  virtual void cancel() = 0;
};

// The parts of a session that its answers run on.
struct SessionParts {
  LoadedModel& model;
  engine::EngineThread& thread;

  static SessionParts of(const Session& session);
  // Begins the answer that `make` gives. `call_again` has go_on called from the thread that finds a stream of the
  // session ready. Errors: those of `make`.
  using Make = std::function<Result<std::shared_ptr<SessionAnswer>>(std::function<void()> call_again)>;
  static Result<RequestId> begin_answer(const Session& session, const Make& make);
};

}  // namespace realizar
