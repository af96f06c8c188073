#include "server/call/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/engine.h"
#include "server/call/answer_room.h"
#include "server/call/context.h"
#include "server/call/protocol.h"
#include "server/shared/shared_prefixes.h"
#include "server/watch/metrics.h"

namespace realizar::server {
namespace {

// For clients that wait long anyway: everything else has priority on the processor.
constexpr size_t kRestWorkBytes = WorkPool::kSmallBytes + 1;
constexpr const char* kTraceHeader = "x-trace";
constexpr std::string_view kOperations = "operations";  // a value of that header
constexpr size_t kSharedPrompts = 4;                    // of a call whose prefixes are looked up on other servers
constexpr size_t kMaxReasons = 16;                      // listed in a trace
constexpr uint32_t kUsualTokens = 8192;                 // assumed maximum for an answer without a limit

double ms_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

// The earliest of the choices' times; 0 means none.
void keep_first(double& first_ms, double ms) {
  if (ms > 0 && (first_ms == 0 || ms < first_ms)) first_ms = ms;
}

Json phase_json(const TracePhase& phase) {
  return {{"n_steps", phase.n_steps},
          {"n_tokens", phase.n_tokens},
          {"total_ms", phase.total_ms},
          {"n_computed", phase.n_computed}};
}

// Adds the steps in which the request took part; others may have shared them.
void add_operations(const Trace& trace, Json& json) {
  json["steps"] = {{"prefill", phase_json(trace.prefill)}, {"decode", phase_json(trace.decode)}};
  Json& rows = json["operations"] = Json::array();
  for (const TraceRow& row : trace.rows) {
    rows.push_back({{"name", row.op},
                    {"phase", row.decode ? "decode" : "prefill"},
                    {"count", row.count},
                    {"total_ms", row.total_ms},
                    {"bytes", row.bytes},
                    {"flops", row.flops}});
  }
}

// The maximum length of an answer. One without a limit is bounded when it has grown too large.
uint64_t most_tokens(const CompletionPlan& plan, const Request& request, const ServedModel& model) {
  if (request.pooling != Pooling::kNone) return 0;
  const ModelInfo& info = model.loaded->info;
  const bool shifts = plan.shift.is_on() || model.defaults->context_shift;
  const uint32_t own = engine::capacity_for_all(request, info.n_ctx) - 1;
  const uint32_t most = plan.shift.is_on() ? plan.shift.max_tokens : shifts ? request.max_tokens.value_or(own) : own;
  return request.max_tokens || request.ignore_eos ? most : std::min(most, kUsualTokens);
}

// The answer is kept if the end of the stream repeats it.
bool keeps_answer(bool is_stream, ResponseWriter* writer) {
  return !is_stream || (writer != nullptr && writer->long_events() != nullptr);
}

uint64_t vector_bytes(const Request& request, const ServedModel& model) {
  if (request.pooling == Pooling::kNone) return 0;
  const size_t n_vectors = request.pooling == Pooling::kAll ? request.prompt.size() : 1;
  return n_vectors * model.loaded->info.d_model * sizeof(float);
}

Error no_answer_room() {
  return {ErrorCode::kResourceExhausted, "other answers fill the room that this server has for them", "answers"};
}

std::string mb_of(uint64_t n_bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(n_bytes) / (1 << 20));
}

// Errors: InvalidArgument with the numbers, if the whole answers may exceed room.n_bytes_of_one().
Status check_answer_size(const CompletionPlan& plan, const ServedModel& model, const AnswerRoom& room) {
  uint64_t n_bytes = 0, n_most = 0, n_alternatives = 0;
  const bool keeps_all = keeps_answer(plan.stream, plan.writer.get());
  for (const Request& request : plan.requests) {
    const uint64_t n_tokens = keeps_all ? most_tokens(plan, request, model) : 0;
    const uint64_t n_scored = n_tokens + (request.prompt_logprobs ? request.prompt.size() : 0);
    n_bytes += n_scored * (kTokenBytes + kTokenTextBytes + request.n_logprobs * kAlternativeBytes);
    n_bytes += vector_bytes(request, model);
    n_most = std::max(n_most, n_scored);
    n_alternatives = std::max<uint64_t>(n_alternatives, request.n_logprobs);
  }
  if (n_bytes <= room.n_bytes_of_one()) return {};
  const std::string what =
      n_most == 0 ? fmt::format("{} vectors of {} numbers", plan.requests.size(), model.loaded->info.d_model)
                  : fmt::format("{} answers of up to {} tokens with {} alternatives each", plan.requests.size(), n_most,
                                n_alternatives);
  return invalid_argument(
      fmt::format("{} may take {}, and those of one request may take {} here (--max-answer-bytes): ask for fewer "
                  "prompts, answers, tokens or alternatives",
                  what, mb_of(n_bytes), mb_of(room.n_bytes_of_one())));
}

// The generation of one call, destroyed with the call: whatever is still running is then cancelled.
class Completion final : public PlanRun {
 public:
  // The call takes over the plan's writer.
  Completion(Call& call, ServedModelPtr served, CompletionPlan&& asked)
      : PlanRun(std::move(served), std::move(asked), *(call.writer = std::move(asked.writer))),
        call_(call),
        keeps_answer_(keeps_answer(is_stream(), call.writer.get())),
        room_share_(call.context.answers, call.tenant, [&call] { call.interrupt(no_answer_room()); }) {
    call_.record.prompt = plan().logged_prompt;
  }

  ~Completion() override {
    if (!is_done()) static_cast<void>(caught([&] { call_.context.metrics.count_aborted(model().id); }));
  }

  void begin() {
    if (trace_wish() == kOperations && !call_.context.options.trace_operations) {
      return end_with({403, "operations are not traced here: the server was started without --trace-operations",
                       "X-Trace", "not_traced"});
    }
    call_.record.model = model().id;
    call_.record.n_prompt = usage().n_prompt;
    call_.record.submitted = Clock::now();
    start();
  }

  // kTooLarge: no copy of that size is kept.
  AnswerRoom::Grown count_copy(size_t n_bytes) { return room_share_.grow_to(n_answer_bytes_ + n_bytes); }

  // The end, of a stream or as the whole answer, with the trace that the call requests.
  void end() {
    const Json trace_json = wants_trace() ? trace() : Json();
    end_stream(wants_trace() ? &trace_json : nullptr);
  }

  void put_whole(JsonPieces& pieces) {
    Json body = whole(pieces);
    if (wants_trace() && body.is_object()) body["trace"] = trace();
    pieces.put(std::move(body));
  }

 private:
  void begin_reply() override { call_.begin_stream(stream_head(*call_.protocol)); }

  void write(const std::string& bytes) override { call_.write(bytes); }
  void fail(const ApiError& error) override { call_.fail(error); }
  bool takes_no_more() const override { return call_.is_congested(); }
  void on_ready() override { call_.signal_update(); }

  void on_token(const TokenEvent& token) override {
    if (token.index > 0) call_.context.metrics.observe_inter_token(model().id, token.ms);
    if (token.index == 0) keep_first(call_.record.until_token_ms, token.ms);
    ++call_.record.n_told;
    n_answer_bytes_ += kTokenBytes + token.top.size() * kAlternativeBytes;
  }

  std::optional<ApiError> on_update(const ChoiceUpdate& update, const Choice& choice) override {
    if (choice.n_tokens() > 0 && is_unshared_) share(choice);
    if (!keeps_answer_) return std::nullopt;
    for (const text::OutputEvent& event : update.events) n_answer_bytes_ += event.text.size();
    const TokenLog& prompt = update.prompt_tokens;
    n_answer_bytes_ += prompt.size() * kTokenBytes + prompt.n_alternatives() * kAlternativeBytes;
    if (update.ended) n_answer_bytes_ += choice.end().embedding.size() * sizeof(float);
    const AnswerRoom::Grown grown = room_share_.grow_to(n_answer_bytes_);
    if (grown == AnswerRoom::Grown::kYes) return std::nullopt;
    if (grown == AnswerRoom::Grown::kNoRoom) return to_api_error(no_answer_room());
    return bad_request(
        fmt::format("the answers take more than {}, which those of one request may take here (--max-answer-bytes)",
                    mb_of(call_.context.answers.n_bytes_of_one())));
  }

  void on_choice_end(size_t choice_idx, const Choice& choice) override {
    observe_end(choice);
    if (!is_first_of_prompt(choice_idx)) return;
    note_slot(choice);
    share(choice);
  }

  // Offers the cached prefix to other servers: the prompt as soon as it is computed, since its answer may take long.
  void share(const Choice& choice) {
    is_unshared_ = false;
    SharedPrefixes* shared = call_.context.shared;
    const Request& request = choice.request();
    if (shared == nullptr || request.pooling != Pooling::kNone) return;
    if (choice.has_ended()) shared->observe(model(), choice.end().stats);
    std::vector<TokenId> tokens = request.prompt;
    tokens.insert(tokens.end(), choice.tokens().begin(), choice.tokens().end());
    shared->offer(served(), request, plan().cache_name, tokens);
  }

  void on_done() override {
    CallRecord& record = call_.record;
    record.n_cached = usage().n_cached;
    if (n_prompts() == 1) return;
    for (size_t i = 0; i < n_prompts(); ++i) {
      const Usage one = usage_of(i);
      record.prompts.push_back({one.n_prompt, one.n_cached, one.n_completion});
    }
  }

  void observe_end(const Choice& choice) {
    const GenerationStats& stats = choice.end().stats;
    CallRecord& record = call_.record;
    record.n_generated += choice.n_tokens();
    record.queue_ms = stats.queue_ms;
    record.prefill_ms = stats.prefill_ms;
    record.first_token_ms = stats.first_token_ms;
    record.decode_ms = std::max(record.decode_ms, stats.decode_ms);
    record.finish_reason = choice.end_label();
    if (record.finish_reasons.size() < kMaxReasons) record.finish_reasons.emplace_back(choice.end_label());
    keep_first(record.until_step_ms, stats.queue_ms);
    keep_first(record.until_token_ms, stats.first_token_ms);
    const bool is_alone = choices().size() == 1 && choice.n_tokens() > 0;
    record.until_end_ms =
        is_alone ? stats.first_token_ms + stats.decode_ms : ms_between(record.submitted, Clock::now());
    call_.context.metrics.observe_request(model().id, stats, choice.end_label(), choice.n_tokens(),
                                          ms_between(call_.start, Clock::now()));
  }

  // An interrupted request leaves a slot too. A slot's file does not record the adapter that computed it, so requests
  // with an adapter leave none.
  void note_slot(const Choice& choice) {
    const Request& request = choice.request();
    const bool is_plain = request.pooling == Pooling::kNone && request.adapter.value_or("").empty();
    if (call_.context.slot_folder == nullptr || !is_plain) return;
    Slot slot{request.prompt, request.cache_salt};
    slot.tokens.insert(slot.tokens.end(), choice.tokens().begin(), choice.tokens().end());
    call_.context.slots->note({model().id, call_.key}, plan().id_slot, model().loaded->engine->max_seqs(),
                              std::move(slot));
  }

  // The value of the header X-Trace; empty: none.
  std::string_view trace_wish() const { return call_.request.header(kTraceHeader); }
  bool wants_trace() const { return !trace_wish().empty() && trace_wish() != "0"; }

  // The times of a prompt's first choice.
  Json times_of(size_t prompt_idx) const {
    const GenerationStats& stats = first_of_prompt(prompt_idx).end().stats;
    Json times{{"queue_ms", stats.queue_ms},           {"prefix_lookup_ms", stats.prefix_lookup_ms},
               {"prefill_ms", stats.prefill_ms},       {"first_token_ms", stats.first_token_ms},
               {"decode_ms", stats.decode_ms},         {"n_prompt", stats.n_prompt},
               {"n_cached", stats.n_cached},           {"n_generated", stats.n_generated},
               {"n_preemptions", stats.n_preemptions}, {"n_drafted", stats.n_drafted},
               {"n_accepted", stats.n_accepted}};
    if (const auto& operations = first_of_prompt(prompt_idx).end().trace) add_operations(*operations, times);
    return times;
  }

  // A single prompt's times and counts are at the top of the trace, those of several in a list, with their sums.
  Json trace() const {
    Json trace{{"prepare_ms", call_.record.prepare_ms}, {"total_ms", ms_between(call_.start, Clock::now())}};
    if (n_prompts() == 1) {
      trace.update(times_of(0));
      return trace;
    }
    const Usage all = usage();
    trace.update(Json{{"n_prompt", all.n_prompt}, {"n_cached", all.n_cached}, {"n_generated", all.n_completion}});
    trace["prompts"] = Json::array();
    for (size_t i = 0; i < n_prompts(); ++i) trace["prompts"].push_back(times_of(i));
    return trace;
  }

  Call& call_;
  const bool keeps_answer_;  // until its end
  bool is_unshared_ = true;  // nothing was offered to other servers yet
  AnswerRoom::Share room_share_;
  uint64_t n_answer_bytes_ = 0;  // of whole answers so far
};

// Waits until the parts of a request's prompt from other servers have arrived, or the time is over.
class SharedWait {
 public:
  SharedWait(Call& call, const ServedModelPtr& model, const Request& request, const std::string& cache_name)
      : call_(call), model_(model), request_(request), cache_name_(cache_name) {}
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> at) {
    // The callback comes through the I/O thread, which is this one.
    const bool waits = call_.context.shared->fetch(model_, request_, cache_name_, call_.resumer());
    if (waits) call_.suspend(Call::Wait::kThread, at);
    return waits;
  }
  void await_resume() const noexcept {}

 private:
  Call& call_;
  const ServedModelPtr& model_;
  const Request& request_;
  const std::string& cache_name_;
};

// Sends the rest of `json` in a reply that has begun. Errors: exceptions while it is made, and the call's interruption.
Task<Status> send_rest(Call& call, JsonPieces& json) {
  std::string piece;
  while (!json.is_done()) {
    while (call.is_congested()) {
      UpdateWait room(call);
      RZ_CO_CHECK_OK(co_await room);
    }
    OnWorker writing(call, kRestWorkBytes, [&] { return caught([&] { json.write(piece, kPieceBytes); }); });
    RZ_CO_CHECK_OK(co_await writing);
    call.write(piece);
    piece.clear();
  }
  co_return Status();
}

Task<Status> send_stream_rest(Call& call) {
  call.set_in_event(true);
  RZ_CO_CHECK_OK(co_await send_rest(call, *call.writer->long_events()));
  call.set_in_event(false);
  co_return Status();
}

// The server's copy of an answer exists before the client gets the answer's end, since the client may request it at
// once.
Task<Status> keep_copy(Call& call, Completion& completion) {
  JsonPieces copy;
  const size_t max_bytes = completion.put_copy(copy);
  std::string text;
  copy.write(text, JsonPieces::kFirstBytes);
  while (!copy.is_done() && text.size() < max_bytes) {
    OnWorker writing(call, kRestWorkBytes,
                     [&] { return caught([&] { copy.write(text, text.size() + kPieceBytes); }); });
    RZ_CO_CHECK_OK(co_await writing);
    const AnswerRoom::Grown grown = completion.count_copy(text.size());
    if (grown == AnswerRoom::Grown::kNoRoom) co_return no_answer_room();
    if (grown == AnswerRoom::Grown::kTooLarge) co_return Status();
  }
  if (copy.is_done() && max_bytes > 0) call.writer->keep_copy(std::move(text));
  co_return Status();
}

Task<Status> send_end(Call& call, Completion& completion) {
  RZ_CO_CHECK_OK(co_await keep_copy(call, completion));
  if (!completion.is_stream()) {
    JsonPieces answer;
    completion.put_whole(answer);
    Task<Status> sending = send_json(call, answer);
    co_return co_await sending;
  }
  completion.end();
  if (completion.has_rest()) RZ_CO_CHECK_OK(co_await send_stream_rest(call));
  call.write(call.protocol->terminator);
  call.end();
  co_return Status();
}

// The time spent here counts as part of the requests' time.
Task<Status> bring_shared(Call& call, const ServedModelPtr& model, CompletionPlan& plan) {
  const auto start = Clock::now();
  const size_t n_per_prompt = plan.n_per_prompt > 0 ? plan.n_per_prompt : plan.requests.size();
  for (size_t i = 0; i < std::min(plan.requests.size(), kSharedPrompts * n_per_prompt); i += n_per_prompt) {
    if (plan.requests[i].pooling != Pooling::kNone) break;
    SharedWait waiting(call, model, plan.requests[i], plan.cache_name);
    co_await waiting;
  }
  const double waited_ms = ms_between(start, Clock::now());
  for (Request& request : plan.requests) {
    if (!request.timeout_ms) continue;
    request.timeout_ms = static_cast<uint32_t>(std::max(*request.timeout_ms - waited_ms, 1.0));
  }
  co_return Status();
}

}  // namespace

Task<Status> send_json(Call& call, JsonPieces& json) {
  std::string bytes;
  json.write(bytes, JsonPieces::kFirstBytes);
  while (!json.is_done() && bytes.size() < kMaxAtOnceBytes) {
    OnWorker writing(call, 0, [&] { return caught([&] { json.write(bytes, bytes.size() + kPieceBytes); }); });
    RZ_CO_CHECK_OK(co_await writing);
  }
  if (json.is_done()) co_return call.finish({200, "application/json", std::move(bytes), {}});
  call.begin_pieces({200, "application/json", "", {}});
  call.write(bytes);
  std::string().swap(bytes);
  RZ_CO_CHECK_OK(co_await send_rest(call, json));
  call.end();
  co_return Status();
}

Task<Status> generate(Call& call, ServedModelPtr model, CompletionPlan plan) {
  RZ_CO_CHECK_OK(check_answer_size(plan, *model, call.context.answers));
  const bool traces = call.context.options.trace_operations && call.request.header(kTraceHeader) == kOperations;
  for (Request& request : plan.requests) request.trace = traces;
  if (call.context.shared != nullptr) RZ_CO_CHECK_OK(co_await bring_shared(call, model, plan));
  Completion completion(call, std::move(model), std::move(plan));
  Status going = caught([&] { completion.begin(); });
  while (going.ok() && !completion.is_done()) {
    if (completion.has_rest()) {
      going = co_await send_stream_rest(call);
    } else {
      UpdateWait update(call);
      going = co_await update;
    }
    if (going.ok()) going = caught([&] { completion.take_update(); });
  }
  if (going.ok() && completion.has_end()) going = co_await send_end(call, completion);
  if (!going.ok()) completion.end_with(to_api_error(going.error()));
  co_return Status();
}

HttpResponse stream_head(const Protocol& protocol) {
  HttpResponse head;
  head.content_type = protocol.content_type;
  head.headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}};
  return head;
}

}  // namespace realizar::server
