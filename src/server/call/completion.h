// One call that generates: a plan's news go out as its reply, counted, measured and traced. I/O thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/call/answer_room.h"
#include "server/call/call.h"
#include "server/call/plan_run.h"

namespace realizar::server {

struct Protocol;

// The head of a stream in that dialect.
HttpResponse stream_head(const Protocol& protocol);

// Errors: InvalidArgument with the numbers, where the whole answers may be larger than room.n_bytes_of_one().
Status check_answer_size(const CompletionPlan& plan, const ServedModel& model, const AnswerRoom& room);

// Ends with its call: what still runs is cancelled then.
class Completion final : public PlanRun {
 public:
  // The call has the plan's speller from then on.
  Completion(Call& call, ServedModelPtr served, CompletionPlan&& asked);
  ~Completion() override;

  void begin();
  // kTooLarge: no copy of that size is kept.
  AnswerRoom::Grown count_copy(size_t n_bytes) { return room_share_.grow_to(n_answer_bytes_ + n_bytes); }
  // The end, of a stream or as the whole answer, with the trace that the call asks for.
  void end();
  void put_whole(JsonPieces& pieces);

 private:
  void begin_reply() override;
  void write(const std::string& bytes) override { call_.write(bytes); }
  void fail(const ApiError& error) override { call_.fail(error); }
  bool takes_no_more() const override { return call_.is_congested(); }
  void on_ready() override { call_.tell_news(); }
  void on_token(const TokenEvent& token) override;
  std::optional<ApiError> on_news(const ChoiceNews& news, const Choice& choice) override;
  void on_choice_end(size_t choice_idx, const Choice& choice) override;
  void on_done() override;
  void observe_end(const Choice& choice);
  void note_slot(const Choice& choice);
  Json times_of(size_t prompt_idx) const;
  // What the header X-Trace says; empty: nothing.
  std::string_view trace_wish() const;
  bool wants_trace() const { return !trace_wish().empty() && trace_wish() != "0"; }
  Json trace() const;

  Call& call_;
  const bool keeps_answer_;  // until its end
  AnswerRoom::Share room_share_;
  uint64_t n_answer_bytes_ = 0;  // of whole answers so far
};

// Generates what `plan` says, and answers the call with it.
Task<Status> generate(Call& call, ServedModelPtr model, CompletionPlan plan);

}  // namespace realizar::server
