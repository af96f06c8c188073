#include "server/call/plan_run.h"

#include <algorithm>
#include <utility>

namespace realizar::server {
namespace {

constexpr size_t kMaxAtOnce = 32;  // choices of one call in the engine at a time: a long list shares with others
// Prompt tokens of a list of vectors in the engine, on a CPU: the time of a step is proportional to its rows, and a new
// request waits for one step and is in the next. More at a time would not be faster.
constexpr size_t kPooledTokens = 128, kLeastPooled = 2;

// The plan's shift, or else, if the server shifts contexts, that of llama.cpp's server. Without a limit an answer has
// at most as many tokens as the model's trained context.
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

// How many choices like this one are in the engine at a time.
size_t most_at_once(const Request& request, const ServedModel& model) {
  const auto& devices = model.loaded->info.devices;
  const bool is_on_gpu = std::ranges::any_of(devices, [](const auto& device) { return device.name != "cpu"; });
  if (request.pooling == Pooling::kNone || is_on_gpu) return kMaxAtOnce;
  return std::clamp(kPooledTokens / std::max<size_t>(request.prompt.size(), 1), kLeastPooled, kMaxAtOnce);
}

}  // namespace

PlanRun::PlanRun(ServedModelPtr model, CompletionPlan&& plan, ResponseWriter& writer)
    : model_(std::move(model)), plan_(std::move(plan)), writer_(writer) {
  for (Request& request : plan_.requests) {
    const ContextShift shift = shift_of(plan_, *model_, request);
    choices_.push_back(std::make_unique<Choice>(model_, std::move(request), plan_.choice, plan_.stream, plan_.lines));
    choices_.back()->shift_context(shift);
    if (plan_.stream && plan_.tells_progress) choices_.back()->tell_progress();
  }
  n_per_prompt_ = plan_.n_per_prompt > 0 ? plan_.n_per_prompt : choices_.size();
}

// The head is sent before the first token: a client in the queue knows that it was accepted.
void PlanRun::start() {
  submit_some();
  if (done_ || !plan_.stream) return;
  begin_reply();
  write_stream(writer_.stream_begin());
}

void PlanRun::submit_some() {
  while (n_submitted_ < choices_.size() &&
         n_submitted_ - n_ended_ < most_at_once(choices_[n_submitted_]->request(), *model_) && submit_next()) {
  }
}

// False if the queue is full, until another choice of the plan ends, or if the whole run has failed.
bool PlanRun::submit_next() {
  // The choice drops the function before the run ends.
  const auto status = choices_[n_submitted_]->submit([this] { on_ready(); });
  if (!status.ok() && status.error().subject == engine::kQueueSubject && n_submitted_ > n_ended_) return false;
  if (status.ok()) {
    ++n_submitted_;
  } else {
    end_with(to_api_error(told_of(status.error(), n_submitted_)));
  }
  return status.ok();
}

void PlanRun::take_update() {
  const bool is_blocked = takes_no_more();
  for (const auto& choice : choices_) choice->set_blocked(plan_.stream && is_blocked);
  if (is_blocked) return;
  for (size_t i = 0; i < n_submitted_ && !done_ && !has_rest(); ++i) {
    if (!choices_[i]->has_ended()) take_update_of(i);
  }
  if (done_ || has_rest() || n_ended_ < choices_.size()) return;
  has_end_ = true;
  finish();
}

void PlanRun::take_update_of(size_t choice_idx) {
  Choice& choice = *choices_[choice_idx];
  ChoiceUpdate update = choice.take_update([this](const TokenEvent& token) { on_token(token); });
  if (const auto too_large = on_update(update, choice)) return end_with(*too_large);
  if (update.ended) {
    ++n_ended_;
    on_choice_end(choice_idx, choice);
    if (const auto error = error_of(choice_idx)) return end_with(*error);
    submit_some();
    if (done_) return;
  }
  const bool has_any =
      !update.events.empty() || !update.tokens.empty() || !update.prompt_tokens.empty() || !update.progress.empty();
  if (plan_.stream) {
    std::string bytes = has_any ? writer_.stream_update(choice_idx, update) : std::string();
    if (update.ended) bytes += writer_.stream_choice_end(choice_idx, choice);
    write_stream(std::move(bytes));
  } else if (has_any) {
    writer_.collect(choice_idx, std::move(update));
  }
}

// Short events are written at once, so that none waits for a worker.
void PlanRun::write_stream(std::string bytes) {
  if (JsonPieces* events = writer_.long_events()) events->write(bytes, JsonPieces::kFirstBytes);
  if (!bytes.empty()) write(bytes);
}

bool PlanRun::has_rest() const {
  const JsonPieces* events = plan_.stream ? writer_.long_events() : nullptr;
  return events != nullptr && !events->is_done();
}

void PlanRun::end_stream(const Json* trace) {
  write_stream(writer_.stream_end(usage(), trace));
}

void PlanRun::finish() {
  if (!std::exchange(done_, true)) on_done();
}

void PlanRun::end_with(const ApiError& error) {
  finish();
  fail(error);
}

// If there are several prompts, names the one concerned.
Error PlanRun::told_of(const Error& error, size_t choice_idx) const {
  const bool is_of_one = error.subject == "prompt" || error.subject == "logits";
  return n_prompts() > 1 && is_of_one ? of_item(error, plan_.prompt_field, choice_idx / n_per_prompt_) : error;
}

std::optional<ApiError> PlanRun::error_of(size_t choice_idx) const {
  const engine::TokenStream::End& end = choices_[choice_idx]->end();
  if (end.error) return to_api_error(told_of(*end.error, choice_idx));
  if (end.finish_reason == FinishReason::kDeadline)
    return ApiError{504, "the request's deadline has passed", "", "timeout"};
  if (end.reader_was_slow) return ApiError{408, "the client reads too slowly", "", "slow_client"};
  if (end.finish_reason == FinishReason::kCancelled)
    return ApiError{503, "the server is shutting down", "", "shutting_down"};
  return std::nullopt;
}

// Choices with the same prompt find the same cached prefix.
Usage PlanRun::usage_of(size_t prompt_idx) const {
  Usage usage;
  usage.n_prompt = static_cast<uint32_t>(first_of_prompt(prompt_idx).request().prompt.size());
  for (size_t i = prompt_idx * n_per_prompt_; i < (prompt_idx + 1) * n_per_prompt_; ++i) {
    usage.n_cached = std::max(usage.n_cached, choices_[i]->end().stats.n_cached);
    usage.n_completion += choices_[i]->n_tokens();
    usage.n_reasoning += choices_[i]->n_reasoning_tokens();
  }
  return usage;
}

Usage PlanRun::usage() const {
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

}  // namespace realizar::server
