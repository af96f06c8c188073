// A plan of answers, and its execution: its choices run in the engine, some at a time, and their updates are written in
// the dialect's format, streamed or whole. A derived class decides where the bytes go. It knows no call. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "realizar/request.h"
#include "server/call/choice.h"
#include "server/call/response_writer.h"
#include "server/http/api_error.h"
#include "server/http/json.h"
#include "server/http/json_pieces.h"
#include "text/answer.h"

namespace realizar::server {

// The plan of the answers to a body, with the ResponseWriter for their results.
struct CompletionPlan {
  std::vector<Request> requests;  // one for each choice
  size_t n_per_prompt = 0;        // adjacent choices that share a prompt; 0: all
  const char* prompt_field = "";  // the field of the prompts, if there may be several
  text::AnswerOptions choice;
  LineRules lines;
  ContextShift shift;
  int64_t n_keep = 0;  // for a shifted context
  std::unique_ptr<ResponseWriter> writer;
  bool stream = false;
  std::string cache_name;       // see cache_name_of; "": the requests' prefixes are private
  int64_t id_slot = -1;         // named by the requests; -1: none
  bool tells_progress = false;  // a stream includes the progress of the prompts
  std::string logged_prompt;    // only if prompts are logged
  std::string background_id;    // of a response that is made whether or not its client waits; "": not in the background
};

class PlanRun {
 public:
  // `writer`: the plan's, which must outlive the run.
  PlanRun(ServedModelPtr model, CompletionPlan&& plan, ResponseWriter& writer);
  virtual ~PlanRun() = default;
  PlanRun(const PlanRun&) = delete;
  PlanRun& operator=(const PlanRun&) = delete;

  // Submits the choices that may run now, and begins a stream.
  void start();
  // Writes the choices' updates, as far as the reply accepts them.
  void take_update();
  // Ends the run, unless it has ended, and reports the error.
  void end_with(const ApiError& error);
  // The reply has failed, or all updates are written, and its end is to be sent.
  bool is_done() const { return done_; }
  bool has_end() const { return has_end_; }
  bool is_stream() const { return plan_.stream; }
  // A part of an event is unsent: its rest precedes any updates.
  bool has_rest() const;
  // The end: that of a stream, or the whole answer. `trace`: null if not requested.
  void end_stream(const Json* trace);
  Json whole(JsonPieces& pieces) { return writer_.whole(choices_, usage(), pieces); }
  // The end, after the server's copy.
  size_t put_copy(JsonPieces& copy) { return writer_.put_copy(choices_, usage(), copy); }

 protected:
  // The output of the reply: a stream's head, its bytes, or an error, which ends it or is all of it.
  virtual void begin_reply() = 0;
  virtual void write(const std::string& bytes) = 0;
  virtual void fail(const ApiError& error) = 0;
  virtual bool takes_no_more() const { return false; }  // for now
  // A choice has updates; called on the thread that finds its stream ready.
  virtual void on_ready() = 0;
  virtual void on_token(const TokenEvent&) {}
  // Returns an error if there is no room for them.
  virtual std::optional<ApiError> on_update(const ChoiceUpdate&, const Choice&) { return std::nullopt; }
  virtual void on_choice_end(size_t /*choice_idx*/, const Choice&) {}
  virtual void on_done() {}

  const ServedModel& model() const { return *model_; }
  const ServedModelPtr& served() const { return model_; }
  const CompletionPlan& plan() const { return plan_; }
  const Choices& choices() const { return choices_; }
  size_t n_submitted() const { return n_submitted_; }
  // Adjacent choices share a prompt; the first of them represents it.
  size_t n_prompts() const { return choices_.size() / n_per_prompt_; }
  bool is_first_of_prompt(size_t choice_idx) const { return choice_idx % n_per_prompt_ == 0; }
  const Choice& first_of_prompt(size_t prompt_idx) const { return *choices_[prompt_idx * n_per_prompt_]; }
  Usage usage_of(size_t prompt_idx) const;
  Usage usage() const;

 private:
  void submit_some();
  bool submit_next();
  void take_update_of(size_t choice_idx);
  void write_stream(std::string bytes);
  void finish();
  Error told_of(const Error& error, size_t choice_idx) const;
  std::optional<ApiError> error_of(size_t choice_idx) const;

  ServedModelPtr model_;
  CompletionPlan plan_;
  ResponseWriter& writer_;
  size_t n_per_prompt_ = 1;
  Choices choices_;
  size_t n_submitted_ = 0, n_ended_ = 0;
  bool done_ = false, has_end_ = false;
};

}  // namespace realizar::server
