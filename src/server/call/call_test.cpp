#include "server/call/call.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <latch>
#include <new>
#include <stdexcept>
#include <thread>

#include "server/call/background.h"
#include "server/call/completion.h"
#include "server/call/context.h"
#include "server/routes/routes.h"
#include "server/watch/metrics.h"

namespace realizar::server {
namespace {

// Records its calls.
class FakeReply final : public Reply {
 public:
  void send(HttpResponse response) override {
    if (send_throws) throw std::bad_alloc();
    heads.push_back(std::move(response));
  }
  void begin_stream(HttpResponse head) override { heads.push_back(std::move(head)); }
  void write(std::string_view bytes) override {
    text += bytes;
    if (fills) is_full = true;
  }
  void end() override { is_ended = true; }
  bool is_congested() const override { return is_full; }
  void drop() noexcept override {
    is_dropped = true;
    if (const auto told = listener.lock()) told->on_closed();
  }

  std::vector<HttpResponse> heads;
  std::string text;
  bool send_throws = false, is_ended = false, is_dropped = false;
  bool fills = false, is_full = false;  // each write fills it
};

class FakeWriter final : public ResponseWriter {
 public:
  std::string stream_error(const ApiError& error) override { return "error " + std::to_string(error.status); }
  Json whole(const Choices&, const Usage&, JsonPieces&) override { return {}; }
};

// Sets the flag while its coroutine exists.
struct Alive {
  explicit Alive(bool& flag) : is_alive(flag) { is_alive = true; }
  ~Alive() { is_alive = false; }
  bool& is_alive;
};

class CallTest : public ::testing::Test {
 protected:
  void SetUp() override {
    HttpOptions local;
    local.port = 0;
    auto created = HttpServer::create(local, [](const HttpRequest&, const auto&) { return std::nullopt; });
    ASSERT_TRUE(created.ok()) << created.error().message;
    http = std::move(*created);
    context = std::make_unique<ServerContext>(ServerContext{options, *http, models, metrics, responses, background});
    script = {};
  }

  static Task<Status> serve(Call& call) {
    Task<Status> scripted = script(call);
    const Status status = co_await scripted;
    co_return status;
  }

  // A call whose body has arrived.
  CallPtr begin(std::function<Task<Status>(Call&)> how) {
    script = std::move(how);
    CallPtr call = Call::begin(*context, {}, reply);
    call->route = &route;
    if (call->awaits_body()) call->on_body({});
    return call;
  }
  void run_to_end() {
    http->every(std::chrono::milliseconds(1), [this] {
      if (context->calls.empty()) http->stop();
    });
    http->run();
  }
  std::string told() const { return metrics.text(models, {}); }
  bool was_counted(int status) const {
    return told().find("route=\"/test\",status=\"" + std::to_string(status) + "\"} 1") != std::string::npos;
  }

  static inline std::function<Task<Status>(Call&)> script;
  static constexpr Route route{"POST", "/test", serve};
  ServerOptions options;
  std::unique_ptr<HttpServer> http;
  ModelRegistry models{{}, {}};
  ServerMetrics metrics;
  ResponseStore responses{{}};
  BackgroundRecords background{1 << 20, 1 << 20};
  std::unique_ptr<ServerContext> context;
  std::shared_ptr<FakeReply> reply = std::make_shared<FakeReply>();
};

TEST_F(CallTest, EveryReplyHasTheCallsHeadersAndIsCountedOnce) {
  begin([](Call& call) -> Task<Status> {
    call.headers = {{"X-Request-Id", "7"}};
    call.record.warning = "a slip";
    call.send({404, "text/plain", "no", {{"Own", "1"}}});
    call.send({200, "text/plain", "yes", {}});
    co_return Status();
  });
  ASSERT_EQ(reply->heads.size(), 1u);
  EXPECT_EQ(reply->heads[0].headers, (Headers{{"Own", "1"}, {"X-Request-Id", "7"}, {"X-Realizar-Warning", "a slip"}}));
  EXPECT_TRUE(was_counted(404)) << told();
  EXPECT_TRUE(context->calls.empty());
}

TEST_F(CallTest, AnErrorOrWhatIsThrownIsTheReply) {
  begin([](Call&) -> Task<Status> { co_return invalid_argument("wrong", "top_p"); });
  begin([](Call&) -> Task<Status> {
    throw std::bad_alloc();
    co_return Status();
  });
  begin([](Call&) -> Task<Status> {
    throw std::logic_error("wrong");
    co_return Status();
  });
  ASSERT_EQ(reply->heads.size(), 3u);
  EXPECT_EQ(reply->heads[0].status, 400);
  EXPECT_EQ(reply->heads[1].status, 503);
  EXPECT_EQ(reply->heads[2].status, 500);
  EXPECT_FALSE(reply->is_dropped);
  EXPECT_TRUE(context->calls.empty());
}

TEST_F(CallTest, AStreamUnderWayEndsInItsOwnWay) {
  begin([](Call& call) -> Task<Status> {
    call.writer = std::make_unique<FakeWriter>();
    call.begin_stream({200, "text/event-stream", "", {}});
    throw std::bad_alloc();
    co_return Status();
  });
  EXPECT_EQ(reply->text, "error 503");
  EXPECT_TRUE(reply->is_ended);
  EXPECT_TRUE(was_counted(200)) << told();
}

TEST_F(CallTest, SpeaksItsProtocolBeforeItsBodyIsThere) {
  static constexpr Protocol kOwn{.spell_error = [](const ApiError& error) {
    return HttpResponse{error.status, "text/own", error.message, {}};
  }};
  const CallPtr call = Call::begin(*context, {}, reply);
  call->protocol = &kOwn;
  EXPECT_TRUE(call->awaits_body());
  call->on_no_body(413, "too large");
  ASSERT_EQ(reply->heads.size(), 1u);
  EXPECT_EQ(reply->heads[0].status, 413);
  EXPECT_EQ(reply->heads[0].content_type, "text/own");
  EXPECT_EQ(reply->heads[0].body, "too large");
  EXPECT_TRUE(context->calls.empty());
}

TEST_F(CallTest, AQuietStreamIsKeptAliveAsItsProtocolSays) {
  static constexpr Protocol kOwn{.keep_alive = "still here"};
  const CallPtr call = begin([](Call& streaming) -> Task<Status> {
    streaming.protocol = &kOwn;
    streaming.begin_stream({200, "", "", {}});
    UpdateWait update(streaming);
    co_return co_await update;
  });
  call->ping(Clock::now());
  EXPECT_EQ(reply->text, "");
  const auto later = Clock::now() + std::chrono::minutes(1);
  call->ping(later);
  EXPECT_EQ(reply->text, "still here");
}

TEST_F(CallTest, WhatCannotBeToldClosesTheConnection) {
  reply->send_throws = true;
  begin([](Call&) -> Task<Status> { co_return invalid_argument("wrong"); });
  EXPECT_TRUE(reply->is_dropped);
  EXPECT_TRUE(was_counted(499)) << told();
  EXPECT_TRUE(context->calls.empty());
}

TEST_F(CallTest, EndsWhereItWaitsWhenTheClientLeaves) {
  bool is_alive = false;
  const CallPtr call = begin([&is_alive](Call& waiting) -> Task<Status> {
    const Alive alive(is_alive);
    UpdateWait update(waiting);
    co_return co_await update;
  });
  EXPECT_TRUE(is_alive);
  call->on_closed();
  EXPECT_FALSE(is_alive);
  EXPECT_TRUE(was_counted(499)) << told();
  EXPECT_TRUE(context->calls.empty());
}

TEST_F(CallTest, StaysForTheWorkerThatHasIt) {
  bool is_alive = false, went_on = false;
  std::latch left(1);
  const CallPtr call = begin([&](Call& lent) -> Task<Status> {
    const Alive alive(is_alive);
    OnWorker waiting(lent, 0, [&]() -> Status {
      left.wait();
      return {};
    });
    const Status status = co_await waiting;
    went_on = true;
    co_return status;
  });
  call->on_closed();
  EXPECT_TRUE(is_alive);
  EXPECT_EQ(context->calls.size(), 1u);
  EXPECT_EQ(context->n_under_way(), 0u);
  left.count_down();
  run_to_end();
  EXPECT_FALSE(is_alive);
  EXPECT_FALSE(went_on);
}

TEST_F(CallTest, StaysForWhoeverCallsIt) {
  const CallPtr call = begin([](Call& waiting) -> Task<Status> {
    UpdateWait update(waiting);
    co_return co_await update;
  });
  call->interrupt(invalid_argument("wrong"));
  EXPECT_TRUE(context->calls.empty());
  EXPECT_TRUE(call->is_over());
  call->signal_update();
  call->on_closed();
  EXPECT_EQ(reply->heads.size(), 1u);
  EXPECT_TRUE(was_counted(400)) << told();
}

TEST_F(CallTest, AnotherThreadGivesItBack) {
  bool went_on = false;
  std::thread other;
  begin([&](Call& call) -> Task<Status> {
    Lent lent(call, [&](std::function<void()> give_back) { other = std::thread(std::move(give_back)); });
    co_await lent;
    went_on = true;
    call.send({204, "", "", {}});
    co_return Status();
  });
  EXPECT_FALSE(went_on);
  run_to_end();
  other.join();
  EXPECT_TRUE(went_on);
  EXPECT_TRUE(was_counted(204)) << told();
}

TEST_F(CallTest, WhatAWorkerThrowsIsWhatIsAwaited) {
  begin([](Call& call) -> Task<Status> {
    OnWorker work(call, 0, []() -> Result<int> { throw std::bad_alloc(); });
    const Result<int> result = co_await work;
    call.send({result.ok() ? 200 : 202, "", "", {}});
    co_return Status();
  });
  run_to_end();
  EXPECT_TRUE(was_counted(202)) << told();
}

TEST_F(CallTest, AnInterruptionIsTheUpdateOrTheReply) {
  const Error error{ErrorCode::kResourceExhausted, "the server is shutting down", "shutdown"};
  std::string update_was;
  const CallPtr waiting = begin([&update_was](Call& call) -> Task<Status> {
    UpdateWait update(call);
    const Status status = co_await update;
    update_was = status.ok() ? "good" : status.error().subject;
    co_return status;
  });
  waiting->interrupt(error);
  EXPECT_EQ(update_was, "shutdown");
  const CallPtr reading = Call::begin(*context, {}, reply);
  reading->route = &route;
  EXPECT_TRUE(reading->awaits_body());
  reading->interrupt(error);
  ASSERT_EQ(reply->heads.size(), 2u);
  EXPECT_EQ(reply->heads[0].status, 503);
  EXPECT_EQ(reply->heads[1].status, 503);
  EXPECT_TRUE(context->calls.empty());
}

TEST_F(CallTest, IsOneOfItsTenantsOpenCallsUntilItIsOver) {
  const CallPtr call = begin([](Call& waiting) -> Task<Status> {
    waiting.tenant = 7;
    waiting.count_as_open();
    UpdateWait update(waiting);
    co_return co_await update;
  });
  EXPECT_EQ(context->n_open_of(7), 1u);
  call->on_closed();
  EXPECT_EQ(context->n_open_of(7), 0u);
  EXPECT_TRUE(context->n_open.empty());
}

// A list of texts with 1000 bytes each.
Json texts(JsonPieces& pieces, size_t n, std::function<void(size_t)> on_item = {}) {
  return pieces.list(n, [on_item = std::move(on_item)](size_t i) {
    if (on_item) on_item(i);
    return Json(std::string(1000, 'x'));
  });
}

std::string written_texts(size_t n) {
  JsonPieces pieces;
  pieces.put(texts(pieces, n));
  std::string text;
  pieces.write(text, SIZE_MAX);
  return text;
}

Task<Status> answer_texts(Call& call, size_t n, std::function<void(size_t)> on_item) {
  JsonPieces pieces;
  pieces.put(texts(pieces, n, std::move(on_item)));
  Task<Status> sending = send_json(call, pieces);
  const Status sent = co_await sending;
  co_return sent;
}

TEST_F(CallTest, AnAnswerBeyondItsFirstPieceIsWrittenByWorkers) {
  constexpr size_t kN = 500;
  static_assert(kN * 1000 < kMaxAtOnceBytes);
  std::thread::id first, last;
  for (const size_t n : {size_t{10}, kN}) {
    begin([&](Call& call) {
      return answer_texts(call, n, [&](size_t i) { (i == 0 ? first : last) = std::this_thread::get_id(); });
    });
  }
  run_to_end();
  ASSERT_EQ(reply->heads.size(), 2u);
  EXPECT_EQ(reply->heads[0].body, written_texts(10));
  EXPECT_TRUE(reply->heads[1].body == written_texts(kN));
  EXPECT_EQ(first, std::this_thread::get_id());
  EXPECT_NE(last, first);
}

TEST_F(CallTest, AVeryLongAnswerIsWrittenAsTheClientTakesIt) {
  constexpr size_t kN = 3000;
  size_t n_made = 0, n_most_ahead = 0, n_rounds = 0;
  reply->fills = true;
  begin([&](Call& call) { return answer_texts(call, kN, [&](size_t) { ++n_made; }); });
  http->every(std::chrono::milliseconds(1), [&] {
    if (context->calls.empty()) return http->stop();
    if (!std::exchange(reply->is_full, false)) return;
    ++n_rounds;
    n_most_ahead = std::max(n_most_ahead, n_made * 1000 - std::min(n_made * 1000, reply->text.size()));
    Call& call = *context->calls.front();
    call.ping(Clock::now() + std::chrono::minutes(1));  // would not be JSON
    call.on_drained();
  });
  http->run();
  ASSERT_EQ(reply->heads.size(), 1u);
  EXPECT_EQ(reply->heads[0].status, 200);
  EXPECT_TRUE(reply->is_ended);
  EXPECT_TRUE(reply->text == written_texts(kN));
  EXPECT_LE(n_most_ahead, kPieceBytes + JsonPieces::kStepBytes);
  EXPECT_GT(n_rounds, 20u);
  EXPECT_TRUE(was_counted(200)) << told();
}

// The client must not mistake the beginning for the whole.
TEST_F(CallTest, AnAnswerThatCannotBeFinishedClosesTheConnection) {
  begin([](Call& call) {
    return answer_texts(call, 5000, [](size_t i) {
      if (i == 4000) throw std::bad_alloc();
    });
  });
  run_to_end();
  EXPECT_TRUE(reply->is_dropped);
  EXPECT_FALSE(reply->is_ended);
  EXPECT_EQ(reply->text.find("error"), std::string::npos);
  EXPECT_TRUE(was_counted(499)) << told();
}

}  // namespace
}  // namespace realizar::server
