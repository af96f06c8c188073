// Many concurrent requests on one model, from any thread of a process: they run together, each with callbacks or a
// future, and each gives the same tokens as by itself.
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

enum class RequestId : uint64_t {};  // unique within a session

struct SessionOptions {
  uint32_t max_queue = 256;  // requests that may wait while max_seqs of LoadOptions::batch run
};

class Session {
 public:
  using EndCallback = std::function<void(Result<TextGeneration> result)>;

  // The session holds the model until it ends: until then the model's const functions may be called, from any thread;
  // its others fail, or do nothing. The model must outlive the session. Errors: InvalidArgument if the model has a
  // session; Unsupported if its file has no tokenizer.
  static Result<Session> open(LanguageModel& model, const SessionOptions& options = {});
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  // Cancels running and waiting requests, and returns once every end was reported; in a callback of the session it
  // returns at once, and the model's destructor waits for the rest.
  ~Session();

  // Any thread, including callbacks. The callbacks are called on the session's thread, those of one request in order:
  // on_text with each piece, where false ends the request with kCancelled; on_end once, perhaps before submit returns.
  // A slow callback delays other requests' callbacks, but does not stop requests from running. Errors: those of the
  // request and its options, by name; ContextLengthExceeded; ResourceExhausted if the queue is full. If submit returns
  // an error, on_end is not called.
  Result<RequestId> submit(Request request, const TextOptions& text, TextCallback on_text, EndCallback on_end);
  // submit() without callbacks. The future also returns the errors of submit. A callback that waits for it waits
  // forever.
  std::future<Result<TextGeneration>> ask(Request request, const TextOptions& text = {});

  // Any thread. Ends the request with kCancelled within a step; no effect if it has ended.
  void cancel(RequestId id);
  // Requests whose end was not reported yet.
  size_t n_open() const;
  // Returns once there are none; in a callback of the session at once.
  void wait() const;
  // Whether the calling thread is one on which the session calls callbacks and constraints.
  bool in_callback() const;
  // Forgets cached prefixes, and zeroes the data that ended requests have left in memory. Returns when that is done.
  void clear_cache();
  // LanguageModel::logits, between two steps of the running requests. They continue in the meantime, and new ones wait.
  // Any thread except those of callbacks, as for the next function. Errors: InvalidArgument in a callback.
  Result<std::vector<float>> logits(std::span<const TokenId> tokens, uint32_t n_prompt, uint32_t n_last);
  // LanguageModel::set_trace. The recording is read from the model.
  Status set_trace(bool on);

 private:
  class Impl;
  friend struct SessionParts;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace realizar
