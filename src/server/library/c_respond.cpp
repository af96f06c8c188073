// rz_session_respond: bodies of the server's routes, answered in a session of the C interface.
#include <atomic>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "api/c_support.h"
#include "api/session_answer.h"
#include "base/caught.h"
#include "base/try.h"
#include "server/call/plan_run.h"
#include "server/call/read_body.h"
#include "server/call/response_store.h"

namespace realizar::server {
namespace {

constexpr std::pair<std::string_view, const Protocol*> kLibraryRoutes[] = {
    {"/v1/chat/completions", &kChatCompletions},
    {"/v1/chat/completions/input_tokens", &kChatTokens},
    {"/v1/completions", &kCompletions},
    {"/v1/embeddings", &kEmbeddings},
    {"/v1/rerank", &kRerank},
    {"/v2/rerank", &kCohereRerank},
    {"/v1/score", &kScore},
    {"/v1/responses", &kResponses},
    {"/v1/responses/input_tokens", &kResponseTokens},
    {"/v1/messages", &kMessages},
    {"/v1/messages/count_tokens", &kMessageTokens},
    {"/v1/fim/completions", &kFim},
    {"/completion", &kLlamaCompletion},
    {"/infill", &kLlamaInfill},
    {"/tokenize", &kTokenize},
    {"/detokenize", &kDetokenize},
    {"/apply-template", &kApplyTemplate},
};

const Protocol* protocol_of(std::string_view path) {
  for (const auto& [known, protocol] : kLibraryRoutes) {
    if (path == known) return protocol;
  }
  return nullptr;
}

int c_code_of(const ApiError& error) {
  if (error.n_ctx > 0) return RZ_CONTEXT_LENGTH_EXCEEDED;
  if (error.status == 404) return RZ_NOT_FOUND;
  if (error.status == 499) return RZ_CANCELLED;
  if (error.status == 408 || error.status == 429 || error.status == 503 || error.status == 507)
    return RZ_RESOURCE_EXHAUSTED;
  return error.status >= 500 ? RZ_INTERNAL : RZ_INVALID_ARGUMENT;
}

struct Listener {
  rz_response_callback on_bytes = nullptr;
  rz_result_callback on_result = nullptr;
  rz_end_callback on_end = nullptr;
  void* user = nullptr;
};

rz_result result_of(const Choice& choice) {
  const Generation& end = choice.end();
  TextGeneration generation;
  static_cast<Generation&>(generation) = end;
  generation.stats.n_prompt = static_cast<uint32_t>(choice.request().prompt.size());
  generation.stats.n_generated = choice.n_tokens();
  rz_result result = c::to_c_result(generation);
  if (choice.end().error) result.error_code = c::code_of(*choice.end().error);
  return result;
}

// An answer in progress. Everything except cancel() runs on the session's thread.
class LibraryAnswer final : public SessionAnswer, private PlanRun {
 public:
  LibraryAnswer(const Protocol& protocol, const Listener& listener, ServedModelPtr model, CompletionPlan&& plan,
                std::unique_ptr<ResponseWriter> writer, std::function<void()> call_again)
      : PlanRun(std::move(model), std::move(plan), *writer),
        protocol_(protocol),
        listener_(listener),
        writer_(std::move(writer)),
        call_again_(std::move(call_again)) {}

  void cancel() override { is_cancelled_ = true; }

  bool go_on() override {
    const Status gone = caught([this] { advance(); });
    if (!gone.ok()) static_cast<void>(caught([&] { end_with(to_api_error(gone.error())); }));
    if (!is_done() || !have_all_ended()) return true;
    tell_end();
    return false;
  }

 private:
  void advance() {
    if (!std::exchange(has_begun_, true)) start();
    if (is_done()) return;
    if (is_cancelled_) {
      for (const auto& choice : choices()) choice->stop();
    }
    take_update();
    while (has_rest()) {
      write_rest();
      take_update();
    }
    if (has_end()) send_end();
  }

  void send_end() {
    if (!is_stream()) {
      JsonPieces pieces;
      pieces.put(whole(pieces));
      std::string text;
      pieces.write(text, SIZE_MAX);
      return tell(200, "application/json", text);
    }
    end_stream(nullptr);
    while (has_rest()) write_rest();
    write(std::string(protocol_.terminator));
  }

  void write_rest() {
    std::string bytes;
    writer_->long_events()->write(bytes, SIZE_MAX);
    write(bytes);
  }

  // Choices that still run after the end of the reply are ended, and each end is reported.
  bool have_all_ended() {
    bool all_ended = true;
    for (size_t i = 0; i < n_submitted(); ++i) {
      Choice& choice = *choices()[i];
      if (choice.has_ended()) continue;
      choice.stop();
      static_cast<void>(choice.take_update([](const TokenEvent&) {}));
      if (choice.has_ended()) on_choice_end(i, choice);
      all_ended = all_ended && choice.has_ended();
    }
    return all_ended;
  }

  void tell_end() {
    if (listener_.on_end == nullptr) return;
    rz_result result = n_submitted() > 0 ? result_of(*choices().front()) : rz_result{};
    result.struct_size = sizeof result;
    if (is_cancelled_) {
      result.finish_reason = RZ_FINISH_CANCELLED;
    } else if (error_.status == 504) {
      result.finish_reason = RZ_FINISH_DEADLINE;
    } else if (error_.status != 200) {
      result.finish_reason = RZ_FINISH_ERROR;
      result.error_code = c_code_of(error_);
    }
    listener_.on_end(error_.message.data(), error_.message.size(), &result, listener_.user);
  }

  void tell(int status, const char* content_type, std::string_view bytes) {
    if (is_cancelled_ || listener_.on_bytes == nullptr) return;
    const rz_response response{status, content_type};
    if (listener_.on_bytes(&response, bytes.data(), bytes.size(), listener_.user) == 0) is_cancelled_ = true;
  }

  void begin_reply() override {
    has_reply_ = true;
    tell(200, protocol_.content_type, "");
  }
  void write(const std::string& bytes) override {
    if (!bytes.empty()) tell(200, protocol_.content_type, bytes);
  }
  void fail(const ApiError& error) override {
    error_ = error;
    if (has_reply_) return write(writer_->stream_error(error));
    const HttpResponse response = protocol_.spell_error(error);
    tell(response.status, response.content_type.c_str(), response.body);
  }
  void on_ready() override { call_again_(); }
  void on_choice_end(size_t choice_idx, const Choice& choice) override {
    if (listener_.on_result == nullptr) return;
    const rz_result result = result_of(choice);
    listener_.on_result(choice_idx, "", 0, &result, listener_.user);
  }

  const Protocol& protocol_;
  const Listener listener_;
  const std::unique_ptr<ResponseWriter> writer_;
  const std::function<void()> call_again_;
  std::atomic<bool> is_cancelled_{false};
  bool has_begun_ = false, has_reply_ = false;
  ApiError error_{200, "", "", ""};
};

// An answer that is available at once, or the refusal of a body.
class WholeAnswer final : public SessionAnswer {
 public:
  // `error`: why the body was refused; null: it was not.
  WholeAnswer(HttpResponse response, const Listener& listener, const Error* error)
      : response_(std::move(response)), listener_(listener) {
    result_.struct_size = sizeof result_;
    if (error == nullptr) return;
    message_ = error->message;
    result_.finish_reason = RZ_FINISH_ERROR;
    result_.error_code = c::code_of(*error);
    result_.n_prompt = error->n_prompt;
  }

  void cancel() override {}
  bool go_on() override {
    const rz_response head{response_.status, response_.content_type.c_str()};
    if (listener_.on_bytes != nullptr) {
      listener_.on_bytes(&head, response_.body.data(), response_.body.size(), listener_.user);
    }
    if (listener_.on_end != nullptr) listener_.on_end(message_.data(), message_.size(), &result_, listener_.user);
    return false;
  }

 private:
  const HttpResponse response_;
  const Listener listener_;
  rz_result result_{};
  std::string message_;
};

// The session's model, under the name that answers contain. The session owns what it points to.
ServedModelPtr served_model(const SessionParts& parts, const char* name) {
  auto model = std::make_shared<ServedModel>();
  model->id = name != nullptr ? name : std::filesystem::path(parts.model.info.path).stem().string();
  model->loaded = {std::shared_ptr<void>(), &parts.model};
  model->thread = {std::shared_ptr<void>(), &parts.thread};
  model->output_format = parts.model.output_format;
  return model;
}

struct Asked {
  std::string_view path;
  std::string body;
  rz_respond_options options;
};

Result<Prepared> read_asked(Asked asked, const Protocol& protocol, const ServedModelPtr& model) {
  static ResponseStore keeps_nothing({0, 0, 0});
  RequestContext context;
  context.path = asked.path;
  context.tenant = asked.options.tenant;
  context.request_timeout_ms = asked.options.timeout_ms;
  if (asked.options.lora != nullptr) context.adapter = asked.options.lora;
  context.adapter_scale = asked.options.lora_scale;
  context.start = Clock::now();
  context.responses = &keeps_nothing;
  HttpBody body{std::move(asked.body), {}};
  BodyNotes notes;
  RZ_TRY(Prepared prepared, read_body(body, protocol, model, context, notes));
  const auto* plan = std::get_if<CompletionPlan>(&prepared);
  if (plan != nullptr && !plan->background_id.empty()) {
    return invalid_argument("background: a session keeps no responses", "background");
  }
  return prepared;
}

Result<std::shared_ptr<SessionAnswer>> begin(Asked asked, const Protocol& protocol, const SessionParts& parts,
                                             const Listener& listener, std::function<void()> call_again) {
  const ServedModelPtr model = served_model(parts, asked.options.model_name);
  Result<Prepared> prepared = caught([&] { return read_asked(std::move(asked), protocol, model); });
  if (!prepared.ok()) {
    const Error& error = prepared.error();
    return {std::make_shared<WholeAnswer>(protocol.spell_error(to_api_error(error)), listener, &error)};
  }
  if (auto* response = std::get_if<HttpResponse>(&*prepared)) {
    return {std::make_shared<WholeAnswer>(std::move(*response), listener, nullptr)};
  }
  CompletionPlan& plan = std::get<CompletionPlan>(*prepared);
  auto writer = std::move(plan.writer);
  return {std::make_shared<LibraryAnswer>(protocol, listener, model, std::move(plan), std::move(writer),
                                          std::move(call_again))};
}

}  // namespace
}  // namespace realizar::server

using namespace realizar;

int64_t rz_session_respond(rz_session* session, const char* path, const char* body, size_t n_bytes,
                           const rz_respond_options* options, rz_response_callback on_bytes,
                           rz_result_callback on_result, rz_end_callback on_end, void* user) {
  return c::counted_with(session, "session", [&]() -> Result<int64_t> {
    if (path == nullptr) return c::null_argument("path");
    if (body == nullptr && n_bytes > 0) return c::null_argument("body");
    RZ_TRY(const rz_respond_options given, c::read_struct(options));
    const server::Protocol* protocol = server::protocol_of(path);
    if (protocol == nullptr) return not_found("there is no " + std::string(path) + " here", "path");
    const server::Listener listener{on_bytes, on_result, on_end, user};
    const auto make = [&](std::function<void()> call_again) {
      return server::begin({path, std::string(body, n_bytes), given}, *protocol, SessionParts::of(session->session),
                           listener, std::move(call_again));
    };
    RZ_TRY(const RequestId id, SessionParts::begin_answer(session->session, make));
    return static_cast<int64_t>(id);
  });
}
