// The C interface: sessions.
#include "api/c_support.h"
#include "base/try.h"
#include "realizar/constraint.h"
#include "realizar/reasoning.h"

using namespace realizar;
using namespace realizar::c;

namespace {

Status read_constraint(const LanguageModel& model, const rz_request& given, Request& request) {
  const int n_forms = (given.json_schema != nullptr) + (given.gbnf != nullptr) + (given.must_call != RZ_CALL_FREELY);
  if (n_forms > 1) return invalid_argument("json_schema, gbnf and must_call: only one of them may be given", "gbnf");
  if (given.must_call < RZ_CALL_FREELY || given.must_call > RZ_CALL_ONE) {
    return invalid_argument("must_call: expected RZ_CALL_..., actual " + std::to_string(given.must_call), "must_call");
  }
  const ConstraintOptions options{.relaxed = given.relaxed_schema != 0, .prompt = request.prompt};
  if (given.json_schema != nullptr) {
    RZ_TRY(request.constraint, json_schema_constraint(model, given.json_schema, options));
  }
  if (given.gbnf != nullptr) {
    RZ_TRY(request.constraint, gbnf_constraint(model, given.gbnf, options));
  }
  if (given.must_call != RZ_CALL_FREELY) {
    if (given.tools_json == nullptr) return null_argument("tools_json");
    const ToolCallOptions calls{.parallel = given.must_call == RZ_CALL_SOME, .prompt = request.prompt};
    RZ_TRY(request.constraint, tool_calls_constraint(model, given.tools_json, calls));
  }
  if (given.has_reasoning_budget == 0) return {};
  RZ_TRY(request.constraint, reasoning_constraint(model, given.reasoning_budget, request.prompt, request.constraint));
  return {};
}

TextCallback tell_parts(rz_part_callback on_part, void* user) {
  if (on_part == nullptr) return {};
  return [on_part, user, view = TokenView()](const TextEvent& event) mutable {
    rz_token token{};
    if (event.token != nullptr) token = view.of(*event.token, event.text);
    const rz_part part{static_cast<int>(event.kind), event.call_idx, event.text.data(), event.text.size(),
                       event.token != nullptr ? &token : nullptr};
    return on_part(&part, user) != 0;
  };
}

// A vector is reported as it is; a reranker's scores are reported as a relevance.
Session::EndCallback tell_end(rz_end_callback on_end, void* user, const Request& request) {
  if (on_end == nullptr) return {};
  const size_t n_prompt = request.prompt.size();
  const bool is_rank = request.pooling == Pooling::kRank;
  return [on_end, user, n_prompt, is_rank](const Result<TextGeneration>& result) {
    const std::string& text = result.ok() ? result->text : result.error().message;
    rz_result end = result.ok() ? to_c_result(*result) : to_c_result(result.error(), n_prompt);
    float relevance = 0;
    if (result.ok() && !result->embedding.empty()) {
      if (is_rank) relevance = LanguageModel::relevance(result->embedding);
      end.embedding = is_rank ? &relevance : result->embedding.data();
      end.n_embedding = is_rank ? 1 : result->embedding.size();
    }
    on_end(text.data(), text.size(), &end, user);
  };
}

}  // namespace

rz_session* rz_session_open(rz_model* model, uint32_t max_queue) {
  if (model == nullptr) return fail_without("model"), nullptr;
  return made<rz_session>([&]() -> Result<rz_session*> {
    SessionOptions options;
    if (max_queue > 0) options.max_queue = max_queue;
    if (model->is_busy.exchange(true)) return busy_error();
    auto session = Session::open(model->model, options);
    if (!session.ok()) {
      model->is_busy = false;
      return session.error();
    }
    return new rz_session{*model, std::move(*session)};
  });
}

void rz_session_free(rz_session* session) {
  if (session == nullptr) return;
  if (session->session.in_callback()) {
    fail(callback_error());
    return;
  }
  rz_model& model = session->model;
  delete session;
  model.is_busy = false;
}

int64_t rz_session_submit(rz_session* session, const rz_request* request, rz_part_callback on_part,
                          rz_end_callback on_end, void* user) {
  return counted_with(session, "session", [&]() -> Result<int64_t> {
    if (request == nullptr) return null_argument("request");
    RZ_TRY(const rz_request given, read_struct(request));
    const LanguageModel& model = session->model.model;
    RZ_TRY(Asked asked, read_request(given, model, model.default_sampling()));
    RZ_CHECK_OK(read_constraint(model, given, asked.request));
    RZ_TRY(asked.request.pooling, read_pooling(given.pooling, model));
    Session::EndCallback told = tell_end(on_end, user, asked.request);
    RZ_TRY(const RequestId id,
           session->session.submit(std::move(asked.request), asked.text, tell_parts(on_part, user), std::move(told)));
    return static_cast<int64_t>(id);
  });
}

int rz_session_cancel(rz_session* session, int64_t request) {
  return static_cast<int>(
      counted_with(session, "session", [&] { session->session.cancel(RequestId{static_cast<uint64_t>(request)}); }));
}

int rz_session_wait(rz_session* session) {
  return static_cast<int>(counted_with(session, "session", [&]() -> Status {
    if (session->session.in_callback()) return callback_error();
    session->session.wait();
    return {};
  }));
}

int rz_session_clear_cache(rz_session* session) {
  return static_cast<int>(counted_with(session, "session", [&] { session->session.clear_cache(); }));
}

int64_t rz_session_logits(rz_session* session, const int32_t* ids, size_t n_ids, uint32_t n_prompt, uint32_t n_last,
                          float* logits, size_t capacity) {
  return counted_with(session, "session", [&]() -> Result<int64_t> {
    RZ_CHECK_OK(check_prompt(ids, n_ids));
    RZ_TRY(const auto values, session->session.logits(to_tokens(ids, n_ids), n_prompt, n_last));
    return copy_floats(values, logits, capacity);
  });
}

int rz_session_set_trace(rz_session* session, int on) {
  return static_cast<int>(counted_with(session, "session", [&] { return session->session.set_trace(on != 0); }));
}
