#include "server/call/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "server/call/context.h"
#include "server/call/protocol.h"
#include "server/call/send_json.h"
#include "server/watch/metrics.h"

namespace realizar::server {
namespace {

constexpr std::string_view kOperations = "operations";  // of X-Trace
constexpr uint32_t kUsualTokens = 8192;                 // that an answer without a limit is expected to have at most
constexpr size_t kMaxAtOnce = 32;  // choices of one call in the engine: a long list shares with others
// Prompt tokens of a list of vectors in the engine, on a processor: a step takes as long as it has rows, and whoever
// comes waits for one and is in the next. More at a time are no faster.
constexpr size_t kPooledTokens = 128, kLeastPooled = 2;

double ms_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

Json phase_json(const TracePhase& phase) {
  return {{"n_steps", phase.n_steps},
          {"n_tokens", phase.n_tokens},
          {"total_ms", phase.total_ms},
          {"n_computed", phase.n_computed}};
}

// Adds the steps that the request had a part in; others may have had theirs in the same steps.
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

// What the plan says; where it says nothing, and the server shifts contexts, that of llama.cpp's server. Without a
// limit an answer has as many tokens as the model was trained for at most.
ContextShift shift_of(const CompletionPlan& plan, const ServedModel& model, Request& request) {
  const bool is_wanted = model.defaults->context_shift && request.pooling == Pooling::kNone;
  if (plan.shift.is_on() || !is_wanted) return plan.shift;
  const ModelInfo& info = model.loaded->info;
  ContextShift shift;
  shift.n_ctx = info.n_ctx;
  shift.n_keep = static_cast<uint32_t>(plan.n_keep < 0 ? request.prompt.size() : plan.n_keep);
  shift.max_tokens = request.max_tokens.value_or(info.n_ctx_train);
  request.max_tokens = first_limit(shift, request.prompt.size());
  return shift;
}

// Of an answer. One without a limit that ends by itself is bounded when it has grown too large.
uint64_t most_tokens(const CompletionPlan& plan, const Request& request, const ServedModel& model) {
  if (request.pooling != Pooling::kNone) return 0;
  const ModelInfo& info = model.loaded->info;
  const bool shifts = plan.shift.is_on() || model.defaults->context_shift;
  const uint32_t own = engine::capacity_for_all(request, info.n_ctx) - 1;
  const uint32_t most = plan.shift.is_on() ? plan.shift.max_tokens : shifts ? request.max_tokens.value_or(own) : own;
  return request.max_tokens || request.ignore_eos ? most : std::min(most, kUsualTokens);
}

// What a stream repeats at its end is kept until then.
bool keeps_answer(const CompletionPlan& plan) {
  return !plan.stream || (plan.speller != nullptr && plan.speller->long_events() != nullptr);
}

uint64_t vector_bytes(const Request& request, const ServedModel& model) {
  if (request.pooling == Pooling::kNone) return 0;
  const size_t n_vectors = request.pooling == Pooling::kAll ? request.prompt.size() : 1;
  return n_vectors * model.loaded->info.d_model * sizeof(float);
}

// How many choices like this one are in the engine at a time.
size_t most_at_once(const Request& request, const ServedModel& model) {
  const auto& devices = model.loaded->info.devices;
  const bool is_on_gpu = std::ranges::any_of(devices, [](const auto& device) { return device.name != "cpu"; });
  if (request.pooling == Pooling::kNone || is_on_gpu) return kMaxAtOnce;
  return std::clamp(kPooledTokens / std::max<size_t>(request.prompt.size(), 1), kLeastPooled, kMaxAtOnce);
}

Error no_answer_room() {
  return {ErrorCode::kResourceExhausted, "other answers fill the room that this server has for them", "answers"};
}

std::string mb_of(uint64_t n_bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(n_bytes) / (1 << 20));
}

}  // namespace

Status check_answer_size(const CompletionPlan& plan, const ServedModel& model, const AnswerRoom& room) {
  uint64_t n_bytes = 0, n_most = 0, n_alternatives = 0;
  for (const Request& request : plan.requests) {
    const uint64_t n_tokens = keeps_answer(plan) ? most_tokens(plan, request, model) : 0;
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

namespace {

Task<Status> send_stream_rest(Call& call) {
  call.set_in_event(true);
  Task<Status> sending = send_rest(call, *call.speller->long_events());
  const Status sent = co_await sending;
  if (sent.ok()) call.set_in_event(false);
  co_return sent;
}

// The copy that the server keeps of an answer is there before the client has the answer's end, who may ask for it at
// once.
Task<Status> keep_copy(Call& call, Completion& completion) {
  JsonPieces copy;
  const size_t max_bytes = completion.put_copy(copy);
  std::string text;
  copy.write(text, kFirstPieceBytes);
  while (!copy.is_done() && text.size() < max_bytes) {
    OnWorker writing(call, kRestWorkBytes,
                     [&] { return caught([&] { copy.write(text, text.size() + kPieceBytes); }); });
    const Status written = co_await writing;
    if (!written.ok()) co_return written;
    const AnswerRoom::Grown grown = completion.count_copy(text.size());
    if (grown == AnswerRoom::Grown::kNoRoom) co_return no_answer_room();
    if (grown == AnswerRoom::Grown::kTooLarge) co_return Status();
  }
  if (copy.is_done() && max_bytes > 0) call.speller->keep_copy(std::move(text));
  co_return Status();
}

Task<Status> send_end(Call& call, Completion& completion) {
  Task<Status> keeping = keep_copy(call, completion);
  Status going = co_await keeping;
  if (!going.ok()) co_return going;
  if (!completion.is_stream()) {
    JsonPieces answer;
    completion.put_whole(answer);
    Task<Status> sending = send_json(call, answer);
    going = co_await sending;
    co_return going;
  }
  completion.end_stream();
  if (completion.has_rest()) {
    Task<Status> sending = send_stream_rest(call);
    going = co_await sending;
    if (!going.ok()) co_return going;
  }
  call.write(call.protocol->terminator);
  call.end();
  co_return Status();
}

}  // namespace

Task<Status> generate(Call& call, ServedModelPtr model, CompletionPlan plan) {
  const Status fits = check_answer_size(plan, *model, call.context.answers);
  if (!fits.ok()) {
    call.fail(fits.error());
    co_return Status();
  }
  Completion completion(call, std::move(model), std::move(plan));
  Status going = caught([&] { completion.start(); });
  while (going.ok() && !completion.is_done()) {
    if (completion.has_rest()) {
      Task<Status> sending = send_stream_rest(call);
      going = co_await sending;
    } else {
      NewsWait news(call);
      going = co_await news;
    }
    if (going.ok()) going = caught([&] { completion.take_news(); });
  }
  if (going.ok() && completion.has_end()) {
    Task<Status> sending = send_end(call, completion);
    going = co_await sending;
  }
  if (!going.ok()) completion.fail(to_api_error(going.error()));
  co_return Status();
}

HttpResponse stream_head(const Protocol& protocol) {
  HttpResponse head;
  head.content_type = protocol.content_type;
  head.headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}};
  return head;
}

Completion::Completion(Call& call, ServedModelPtr model, CompletionPlan plan)
    : call_(call),
      model_(std::move(model)),
      plan_(std::move(plan)),
      keeps_answer_(keeps_answer(plan_)),
      room_share_(call.context.answers, call.tenant, [&call] { call.interrupt(no_answer_room()); }) {
  call_.speller = std::move(plan_.speller);
  call_.record.prompt = std::move(plan_.logged_prompt);
  const bool wants_operations = trace_wish() == kOperations;
  for (Request& request : plan_.requests) {
    request.trace = wants_operations && call_.context.options.trace_operations;
    const ContextShift shift = shift_of(plan_, *model_, request);
    choices_.push_back(std::make_unique<Choice>(model_, std::move(request), plan_.choice, plan_.stream, plan_.lines));
    choices_.back()->shift_context(shift);
    if (plan_.stream && plan_.tells_progress) choices_.back()->tell_progress();
  }
  n_per_prompt_ = plan_.n_per_prompt > 0 ? plan_.n_per_prompt : choices_.size();
}

Completion::~Completion() {
  if (!done_) static_cast<void>(caught([&] { call_.context.metrics.count_aborted(model_->id); }));
}

void Completion::start() {
  if (trace_wish() == kOperations && !call_.context.options.trace_operations) {
    return fail({403, "operations are not traced here: the server was started without --trace-operations", "X-Trace",
                 "not_traced"});
  }
  call_.record.model = model_->id;
  call_.record.n_prompt = usage().n_prompt;
  submit_some();
  // The head goes out before the first token: whoever waits in the queue knows that it was taken.
  if (!done_ && plan_.stream) begin_stream();
}

void Completion::submit_some() {
  while (n_submitted_ < choices_.size() &&
         n_submitted_ - n_ended_ < most_at_once(choices_[n_submitted_]->request(), *model_) && submit_next()) {
  }
}

// False where the queue has no room, which the end of another one of the call makes, or the whole call has failed.
bool Completion::submit_next() {
  // The choice forgets the function before the call ends.
  const auto status = choices_[n_submitted_]->submit([&call = call_] { call.tell_news(); });
  if (!status.ok() && status.error().subject == engine::kQueueSubject && n_submitted_ > n_ended_) return false;
  if (!status.ok()) fail(to_api_error(told_of(status.error(), n_submitted_)));
  ++n_submitted_;
  return status.ok();
}

void Completion::take_news() {
  const bool is_blocked = call_.is_congested();
  for (const auto& choice : choices_) choice->set_blocked(plan_.stream && is_blocked);
  if (is_blocked) return;
  for (size_t i = 0; i < n_submitted_ && !done_ && !has_rest(); ++i) {
    if (!choices_[i]->has_ended()) take_news_of(i);
  }
  if (done_ || has_rest() || n_ended_ < choices_.size()) return;
  done_ = has_end_ = true;
  record_prompts();
}

void Completion::take_news_of(size_t choice_idx) {
  Choice& choice = *choices_[choice_idx];
  ChoiceNews news = choice.take_news([this](const TokenEvent& token) {
    if (token.index > 0) call_.context.metrics.observe_inter_token(model_->id, token.ms);
    n_answer_bytes_ += kTokenBytes + token.top.size() * kAlternativeBytes;
  });
  const auto too_large = keeps_answer_ ? count_bytes(news, choice) : std::nullopt;
  if (too_large) return fail(*too_large);
  if (news.ended) {
    ++n_ended_;
    observe_end(choice);
    if (choice_idx % n_per_prompt_ == 0) note_slot(choice);
    if (const auto error = error_of(choice_idx)) return fail(*error);
    submit_some();
    if (done_) return;
  }
  Speller& speller = *call_.speller;
  const bool has_any =
      !news.events.empty() || !news.tokens.empty() || !news.prompt_tokens.empty() || !news.progress.empty();
  if (plan_.stream) {
    std::string bytes = has_any ? speller.stream_news(choice_idx, news) : std::string();
    if (news.ended) bytes += speller.stream_choice_end(choice_idx, choice);
    write_stream(std::move(bytes));
  } else if (has_any) {
    speller.collect(choice_idx, std::move(news));
  }
}

// Of what the answers have by now. Why there is no room for it.
std::optional<ApiError> Completion::count_bytes(const ChoiceNews& news, const Choice& choice) {
  for (const text::OutputEvent& event : news.events) n_answer_bytes_ += event.text.size();
  const TokenLog& prompt = news.prompt_tokens;
  n_answer_bytes_ += prompt.size() * kTokenBytes + prompt.n_alternatives() * kAlternativeBytes;
  if (news.ended) n_answer_bytes_ += choice.end().embedding.size() * sizeof(float);
  switch (room_share_.grow_to(n_answer_bytes_)) {
    case AnswerRoom::Grown::kYes:
      return std::nullopt;
    case AnswerRoom::Grown::kTooLarge:
      return bad_request(
          fmt::format("the answers take more than {}, which those of one request may take here "
                      "(--max-answer-bytes)",
                      mb_of(call_.context.answers.n_bytes_of_one())));
    case AnswerRoom::Grown::kNoRoom:
      break;
  }
  return to_api_error(no_answer_room());
}

void Completion::begin_stream() {
  call_.begin_stream(stream_head(*call_.protocol));
  write_stream(call_.speller->stream_begin());
}

// Short events at once, so that none waits for a worker.
void Completion::write_stream(std::string bytes) {
  if (JsonPieces* events = call_.speller->long_events()) events->write(bytes, kFirstPieceBytes);
  if (!bytes.empty()) call_.write(bytes);
}

bool Completion::has_rest() const {
  const JsonPieces* events = plan_.stream ? call_.speller->long_events() : nullptr;
  return events != nullptr && !events->is_done();
}

void Completion::end_stream() {
  const Json trace_json = wants_trace() ? trace() : Json();
  write_stream(call_.speller->stream_end(usage(), wants_trace() ? &trace_json : nullptr));
}

void Completion::put_whole(JsonPieces& pieces) {
  Json body = call_.speller->whole(choices_, usage(), pieces);
  if (wants_trace() && body.is_object()) body["trace"] = trace();
  pieces.put(std::move(body));
}

void Completion::fail(const ApiError& error) {
  if (!std::exchange(done_, true)) record_prompts();
  call_.fail(error);
}

void Completion::record_prompts() {
  CallRecord& record = call_.record;
  record.n_cached = usage().n_cached;
  if (n_prompts() == 1) return;
  for (size_t i = 0; i < n_prompts(); ++i) {
    const Usage one = usage_of(i);
    record.prompts.push_back({one.n_prompt, one.n_cached, one.n_completion});
  }
}

// Where there are several prompts, which of them it is about.
Error Completion::told_of(const Error& error, size_t choice_idx) const {
  const bool is_of_one = error.subject == "prompt" || error.subject == "logits";
  return n_prompts() > 1 && is_of_one ? of_item(error, plan_.prompt_field, choice_idx / n_per_prompt_) : error;
}

std::optional<ApiError> Completion::error_of(size_t choice_idx) const {
  const engine::TokenStream::End& end = choices_[choice_idx]->end();
  if (end.error) return to_api_error(told_of(*end.error, choice_idx));
  if (end.finish_reason == FinishReason::kDeadline)
    return ApiError{504, "the request's deadline has passed", "", "timeout"};
  if (end.reader_was_slow) return ApiError{408, "the client reads too slowly", "", "slow_client"};
  if (end.finish_reason == FinishReason::kCancelled)
    return ApiError{503, "the server is shutting down", "", "shutting_down"};
  return std::nullopt;
}

void Completion::observe_end(const Choice& choice) {
  const GenerationStats& stats = choice.end().stats;
  CallRecord& record = call_.record;
  record.n_generated += choice.n_tokens();
  record.queue_ms = stats.queue_ms;
  record.prefill_ms = stats.prefill_ms;
  record.first_token_ms = stats.first_token_ms;
  record.decode_ms = std::max(record.decode_ms, stats.decode_ms);
  record.finish_reason = choice.end_label();
  call_.context.metrics.observe_request(model_->id, stats, choice.end_label(), choice.n_tokens(),
                                        ms_between(call_.start, Clock::now()));
}

// What was cut off has left something too. A slot's file does not tell which adapter has computed it, so requests with
// one leave none.
void Completion::note_slot(const Choice& choice) {
  const Request& request = choice.request();
  const bool is_plain = request.pooling == Pooling::kNone && request.adapter.value_or("").empty();
  if (call_.context.slot_folder == nullptr || !is_plain) return;
  Slot slot{request.prompt, request.cache_salt};
  slot.tokens.insert(slot.tokens.end(), choice.tokens().begin(), choice.tokens().end());
  call_.context.slots->note({model_->id, call_.key}, plan_.id_slot, model_->loaded->engine->max_seqs(),
                            std::move(slot));
}

// Choices of one prompt find the same prefix in the cache.
Usage Completion::usage_of(size_t prompt_idx) const {
  Usage usage;
  usage.n_prompt = static_cast<uint32_t>(choices_[prompt_idx * n_per_prompt_]->request().prompt.size());
  for (size_t i = prompt_idx * n_per_prompt_; i < (prompt_idx + 1) * n_per_prompt_; ++i) {
    usage.n_cached = std::max(usage.n_cached, choices_[i]->end().stats.n_cached);
    usage.n_completion += choices_[i]->n_tokens();
    usage.n_reasoning += choices_[i]->n_reasoning_tokens();
  }
  return usage;
}

std::string_view Completion::trace_wish() const {
  return call_.request.header("x-trace");
}

Usage Completion::usage() const {
  Usage all;
  for (size_t i = 0; i < n_prompts(); ++i) {
    const Usage one = usage_of(i);
    all.n_prompt += one.n_prompt;
    all.n_cached += one.n_cached;
    all.n_completion += one.n_completion;
    all.n_reasoning += one.n_reasoning;
  }
  return all;
}

// The times of a prompt's first choice.
Json Completion::times_of(size_t prompt_idx) const {
  const GenerationStats& stats = choices_[prompt_idx * n_per_prompt_]->end().stats;
  Json times{{"queue_ms", stats.queue_ms},           {"prefix_lookup_ms", stats.prefix_lookup_ms},
             {"prefill_ms", stats.prefill_ms},       {"first_token_ms", stats.first_token_ms},
             {"decode_ms", stats.decode_ms},         {"n_prompt", stats.n_prompt},
             {"n_cached", stats.n_cached},           {"n_generated", stats.n_generated},
             {"n_preemptions", stats.n_preemptions}, {"n_drafted", stats.n_drafted},
             {"n_accepted", stats.n_accepted}};
  if (const auto& operations = choices_[prompt_idx * n_per_prompt_]->end().trace) add_operations(*operations, times);
  return times;
}

// One prompt's times and counts stand in the trace itself, those of several in a list, with their sums.
Json Completion::trace() const {
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

}  // namespace realizar::server
