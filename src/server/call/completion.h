// One call that generates: its choices run in the engine, their news go out in the dialect that was asked for, streamed
// or whole. I/O thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/call/answer_room.h"
#include "server/call/call.h"
#include "server/call/choice.h"
#include "server/call/completion_plan.h"
#include "server/http/api_error.h"
#include "server/http/json.h"

namespace realizar::server {

struct Protocol;

// The head of a stream in that dialect.
HttpResponse stream_head(const Protocol& protocol);

// Errors: InvalidArgument with the numbers, where the whole answers may be larger than room.n_bytes_of_one().
Status check_answer_size(const CompletionPlan& plan, const ServedModel& model, const AnswerRoom& room);

// Ends with its call: what still runs is cancelled then.
class Completion {
 public:
  Completion(Call& call, ServedModelPtr model, CompletionPlan plan);
  ~Completion();
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;

  // Submits what may run at once, and begins a stream.
  void start();
  // Sends what there is, as far as the client takes it.
  void take_news();
  // Before a stream begins the status says it; after that, an event in the stream.
  void fail(const ApiError& error);
  // The reply has failed, or all news are there, and its end is to be sent.
  bool is_done() const { return done_; }
  bool has_end() const { return has_end_; }
  bool is_stream() const { return plan_.stream; }
  // Events of a stream are half sent: their rest comes before any news.
  bool has_rest() const;
  // The end, after the copy that the server keeps: that of a stream, or the whole answer.
  size_t put_copy(JsonPieces& copy) { return call_.speller->put_copy(choices_, usage(), copy); }
  // kTooLarge: no copy of that size is kept.
  AnswerRoom::Grown count_copy(size_t n_bytes) { return room_share_.grow_to(n_answer_bytes_ + n_bytes); }
  void end_stream();
  void put_whole(JsonPieces& pieces);

 private:
  void submit_some();
  bool submit_next();
  void take_news_of(size_t choice_idx);
  std::optional<ApiError> count_bytes(const ChoiceNews& news, const Choice& choice);
  void begin_stream();
  void write_stream(std::string bytes);
  void observe_end(const Choice& choice);
  void note_slot(const Choice& choice);
  void record_prompts();
  Error told_of(const Error& error, size_t choice_idx) const;
  std::optional<ApiError> error_of(size_t choice_idx) const;
  size_t n_prompts() const { return choices_.size() / n_per_prompt_; }
  Usage usage_of(size_t prompt_idx) const;
  Usage usage() const;
  Json times_of(size_t prompt_idx) const;
  // What the header X-Trace says; empty: nothing.
  std::string_view trace_wish() const;
  bool wants_trace() const { return !trace_wish().empty() && trace_wish() != "0"; }
  Json trace() const;

  Call& call_;
  ServedModelPtr model_;
  CompletionPlan plan_;
  const bool keeps_answer_;  // until its end
  size_t n_per_prompt_ = 1;
  std::vector<std::unique_ptr<Choice>> choices_;
  AnswerRoom::Share room_share_;
  uint64_t n_answer_bytes_ = 0;  // of whole answers so far
  size_t n_submitted_ = 0, n_ended_ = 0;
  bool done_ = false, has_end_ = false;
};

// Generates what `plan` says, and answers the call with it.
Task<Status> generate(Call& call, ServedModelPtr model, CompletionPlan plan);

}  // namespace realizar::server
