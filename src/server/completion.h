// One call that generates: its choices run in the engine, their news go out in the dialect that was asked for, streamed
// or whole. Lives until the reply is sent or the client is gone. I/O thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/api_error.h"
#include "server/choice.h"
#include "server/context.h"
#include "server/json.h"

namespace realizar::server {

struct Usage {
  uint32_t n_prompt = 0, n_cached = 0, n_completion = 0, n_reasoning = 0;
};

// How one API spells answers. A stream's pieces come as the bytes to send, "data: ...\n\n" and all.
class Dialect {
 public:
  virtual ~Dialect() = default;
  virtual std::string stream_begin() { return {}; }
  virtual std::string stream_news(size_t choice_idx, const ChoiceNews& news) = 0;
  virtual std::string stream_choice_end(size_t choice_idx, const Choice& choice) = 0;
  virtual std::string stream_end(const Usage& usage, const Json* trace) = 0;
  virtual std::string stream_error(const ApiError& error);

  // Collects what a whole answer is made of.
  virtual void collect(size_t choice_idx, ChoiceNews news) = 0;
  virtual Json whole(const std::vector<std::unique_ptr<Choice>>& choices, const Usage& usage) = 0;
};

// "data: {...}\n\n"
std::string sse(const Json& json);

// What tells answers of one version of the program from another's.
std::string system_fingerprint();

struct CompletionPlan {
  std::vector<Request> requests;  // one a choice
  size_t n_per_prompt = 0;        // neighbours that share a prompt; 0: all
  const char* prompt_field = "";  // which holds the prompts, where there may be several
  ChoiceOptions choice;
  std::unique_ptr<Dialect> dialect;
  bool stream = false;
  double prepare_ms = 0;  // reading the body, rendering, tokenizing
};

class Completion : public std::enable_shared_from_this<Completion> {
 public:
  Completion(Call call, ServedModelPtr model, CompletionPlan plan);
  ~Completion();

  // Submits everything and begins to answer; errors are answered.
  void start();
  // Sends a comment if nothing was sent for a while.
  void ping(Clock::time_point now);

 private:
  bool submit_next();
  void on_news(size_t choice_idx);
  void take_news(size_t choice_idx);
  void take_all();
  void begin_reply();
  void send(std::string_view bytes);
  void finish();
  void finish_whole(const Usage& usage);
  void fail(const ApiError& error);
  void observe_token(size_t choice_idx, Sequence::Clock::time_point time);
  void observe_end(const Choice& choice);
  void record_prompts();
  Error told_of(const Error& error, size_t choice_idx) const;
  std::optional<ApiError> error_of(size_t choice_idx) const;
  size_t n_prompts() const { return choices_.size() / n_per_prompt_; }
  Usage usage_of(size_t prompt_idx) const;
  Usage usage() const;
  Json times_of(size_t prompt_idx) const;
  // What the header X-Trace says; empty: nothing.
  std::string_view trace_wish() const;
  Json trace() const;

  Call call_;
  ServedModelPtr model_;
  CompletionPlan plan_;
  size_t n_per_prompt_ = 1;
  std::vector<std::unique_ptr<Choice>> choices_;
  std::vector<std::optional<Sequence::Clock::time_point>> last_token_;  // of each choice
  std::shared_ptr<Completion> self_;                                    // while it runs
  Clock::time_point last_sent_;
  size_t n_submitted_ = 0, n_ended_ = 0;
  bool begun_ = false, done_ = false;
};

}  // namespace realizar::server
