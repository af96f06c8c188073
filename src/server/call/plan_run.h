// A plan of answers, and the plan on its way: its choices run in the engine, some at a time, and their news are
// spelled, streamed or whole. Whoever runs a plan derives from this and says where the bytes go. It knows no call. One
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "realizar/request.h"
#include "server/call/choice.h"
#include "server/call/speller.h"
#include "server/http/api_error.h"
#include "server/http/json.h"
#include "server/http/json_pieces.h"
#include "text/answer.h"

namespace realizar::server {

// A plan of the answers that a body asks for, and the Speller of their results.
struct CompletionPlan {
  std::vector<Request> requests;  // one a choice
  size_t n_per_prompt = 0;        // neighbours that share a prompt; 0: all
  const char* prompt_field = "";  // which holds the prompts, where there may be several
  text::AnswerOptions choice;
  LineRules lines;
  ContextShift shift;
  int64_t n_keep = 0;  // of a context that is shifted
  std::unique_ptr<Speller> speller;
  bool stream = false;
  std::string cache_name;       // as cache_name_of has it; "": the requests' prefixes are nobody else's
  int64_t id_slot = -1;         // that the requests name; -1: none
  bool tells_progress = false;  // a stream's news have that of the prompts
  std::string logged_prompt;    // only where prompts are logged
  std::string background_id;    // of a response that is made whether or not its client waits; "": it is none
};

class PlanRun {
 public:
  // `speller`: the plan's, which must outlive the run.
  PlanRun(ServedModelPtr model, CompletionPlan&& plan, Speller& speller);
  virtual ~PlanRun() = default;
  PlanRun(const PlanRun&) = delete;
  PlanRun& operator=(const PlanRun&) = delete;

  // Submits what may run at once, and begins a stream.
  void start();
  // Spells what the choices have, as far as it is taken.
  void take_news();
  // Ends the run, where it has not ended yet, and tells the error.
  void end_with(const ApiError& error);
  // The reply has failed, or all news are there, and its end is to be sent.
  bool is_done() const { return done_; }
  bool has_end() const { return has_end_; }
  bool is_stream() const { return plan_.stream; }
  // Events of a stream are half sent: their rest comes before any news.
  bool has_rest() const;
  // The end: that of a stream, or the whole answer. `trace`: null where none is wanted.
  void end_stream(const Json* trace);
  Json whole(JsonPieces& pieces) { return speller_.whole(choices_, usage(), pieces); }
  // The end, after the copy that the server keeps.
  size_t put_copy(JsonPieces& copy) { return speller_.put_copy(choices_, usage(), copy); }

 protected:
  // Where the reply goes: a stream's head, its bytes, or the error that ends it or is all of it.
  virtual void begin_reply() = 0;
  virtual void write(const std::string& bytes) = 0;
  virtual void fail(const ApiError& error) = 0;
  virtual bool takes_no_more() const { return false; }  // for now
  // A choice has news, on the thread that finds its stream ready.
  virtual void on_ready() = 0;
  virtual void on_token(const TokenEvent&) {}
  // Gives why there is no room for them.
  virtual std::optional<ApiError> on_news(const ChoiceNews&, const Choice&) { return std::nullopt; }
  virtual void on_choice_end(size_t /*choice_idx*/, const Choice&) {}
  virtual void on_done() {}

  const ServedModel& model() const { return *model_; }
  const ServedModelPtr& served() const { return model_; }
  const CompletionPlan& plan() const { return plan_; }
  const std::vector<std::unique_ptr<Choice>>& choices() const { return choices_; }
  size_t n_submitted() const { return n_submitted_; }
  // Neighbours among the choices share a prompt; the first of them stands for it.
  size_t n_prompts() const { return choices_.size() / n_per_prompt_; }
  bool is_first_of_prompt(size_t choice_idx) const { return choice_idx % n_per_prompt_ == 0; }
  const Choice& first_of_prompt(size_t prompt_idx) const { return *choices_[prompt_idx * n_per_prompt_]; }
  Usage usage_of(size_t prompt_idx) const;
  Usage usage() const;

 private:
  void submit_some();
  bool submit_next();
  void take_news_of(size_t choice_idx);
  void write_stream(std::string bytes);
  void finish();
  Error told_of(const Error& error, size_t choice_idx) const;
  std::optional<ApiError> error_of(size_t choice_idx) const;

  ServedModelPtr model_;
  CompletionPlan plan_;
  Speller& speller_;
  size_t n_per_prompt_ = 1;
  std::vector<std::unique_ptr<Choice>> choices_;
  size_t n_submitted_ = 0, n_ended_ = 0;
  bool done_ = false, has_end_ = false;
};

}  // namespace realizar::server
