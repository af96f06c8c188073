// Many requests at once on one model, from any thread of one process: they run together, each with callbacks or a
// future, and each gives the tokens that it gives alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <span>
#include <vector>

#include "realizar/request.h"
#include "realizar/result.h"
#include "realizar/text.h"

namespace realizar {

class LanguageModel;
struct SessionParts;

enum class RequestId : uint64_t {};  // within its session

struct SessionOptions {
  uint32_t max_queue = 256;  // requests that may wait while max_seqs of LoadOptions::batch run
};

class Session {
 public:
  using EndCallback = std::function<void(Result<TextGeneration> result)>;

  // The session has the model until it ends: meanwhile the model's const functions may be called, from any thread; its
  // others fail, or do nothing. The model must outlive the session. Errors: InvalidArgument where the model has a
  // session; Unsupported where its file has no tokenizer.
  static Result<Session> open(LanguageModel& model, const SessionOptions& options = {});
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  // Cancels what runs or waits, and returns once every end was told; in a callback of the session at once, and the
  // model's destructor waits for the rest.
  ~Session();

  // Any thread, callbacks too. The callbacks are called on the session's thread, those of one request in order: on_text
  // with each piece, and false from it ends the request with kCancelled; on_end once, perhaps before submit returns.
  // What takes long in a callback keeps other requests' callbacks waiting, and no request from running. Errors: those
  // of the request and its options, by name; ContextLengthExceeded; ResourceExhausted where the queue is full. Where
  // submit gives an error, on_end is not called.
  Result<RequestId> submit(Request request, const TextOptions& text, TextCallback on_text, EndCallback on_end);
  // The same without callbacks. The future has the errors of submit too. A callback that waits for it waits forever.
  std::future<Result<TextGeneration>> ask(Request request, const TextOptions& text = {});

  // Any thread. Ends the request with kCancelled within a step; does nothing where it is over.
  void cancel(RequestId id);
  // Requests whose end was not told yet.
  size_t n_open() const;
  // Returns once there are none; in a callback of the session at once.
  void wait() const;
  // Whether the calling thread is one of those on which the session calls callbacks and constraints.
  bool in_callback() const;
  // Forgets cached prefixes, and zeroes what ended requests have left in memory. Returns when that is done.
  void clear_cache();
  // LanguageModel::logits, between two steps of the requests that run. Those that run go on meanwhile, and new ones
  // wait. Any thread but those of callbacks, as for the next. Errors: InvalidArgument in a callback.
  Result<std::vector<float>> logits(std::span<const TokenId> tokens, uint32_t n_prompt, uint32_t n_last);
  // LanguageModel::set_trace. What was recorded is read from the model.
  Status set_trace(bool on);

 private:
  class Impl;
  friend struct SessionParts;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace realizar
