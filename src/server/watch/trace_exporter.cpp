#include "server/watch/trace_exporter.h"

#include <fmt/format.h>
#include <pthread.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <iterator>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/caught.h"
#include "base/try.h"
#include "hub/http.h"

namespace realizar::server {
namespace {

using namespace std::chrono_literals;

// At most some kilobytes each, so that the queue takes a few megabytes.
constexpr size_t kMaxWaiting = 2048, kMaxBatch = 256;  // traces
constexpr auto kBatchTime = 1s;                        // that a trace waits for others
constexpr auto kConnectTimeout = 5s, kSendTimeout = 10s;
constexpr uint64_t kMaxReplyBytes = 1u << 20;
constexpr int kMaxTries = 5;
constexpr std::chrono::milliseconds kFirstPause = 1s, kLongestPause = 30s;
constexpr std::chrono::milliseconds kMostTimeToFlush = 2s, kMostTimeToCancel = 500ms;

enum class Taken { kYes, kLater, kNo };

}  // namespace

struct TraceExporter::State {
  State(hub::Url to, OtlpResource from, hub::HttpClient sender)
      : url(std::move(to)), resource(std::move(from)), client(std::move(sender)) {}

  void run();
  std::vector<RequestTrace> next_batch();
  void send(const std::vector<RequestTrace>& batch, uint64_t n_batch_spans);
  Taken try_to_send(const std::string& body, uint64_t n_batch_spans);
  Taken take_reply(const hub::HttpReply& reply, uint64_t n_batch_spans);
  void wait_for(std::chrono::milliseconds time);
  void tell(bool is_well, const std::string& why);

  const hub::Url url;
  const OtlpResource resource;
  hub::HttpClient client;                   // only used by the thread
  std::chrono::milliseconds asked_pause{};  // only used by the thread
  bool was_well = true;                     // in the collector's last reply; only used by the thread
  std::atomic<uint64_t> n_sent{0}, n_lost{0};
  std::atomic<bool> cancelled{false};
  std::mutex mutex;  // guards the members below
  std::condition_variable changed, end;
  std::deque<RequestTrace> waiting;
  bool is_ending = false, has_ended = false;
};

// A trace without memory for it is lost like others.
void TraceExporter::State::run() {
  while (true) {
    std::vector<RequestTrace> batch;
    if (!caught([&] { batch = next_batch(); }).ok()) continue;
    if (batch.empty()) break;
    uint64_t n_batch_spans = 0;
    for (const RequestTrace& trace : batch) n_batch_spans += n_spans(trace);
    if (!caught([&] { send(batch, n_batch_spans); }).ok()) n_lost += n_batch_spans;
  }
  const std::lock_guard lock(mutex);
  has_ended = true;
  end.notify_all();
}

// Empty when all traces are sent and no more will come.
std::vector<RequestTrace> TraceExporter::State::next_batch() {
  std::vector<RequestTrace> batch;
  batch.reserve(kMaxBatch);
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return is_ending || !waiting.empty(); });
  changed.wait_for(lock, kBatchTime, [&] { return is_ending || waiting.size() >= kMaxBatch; });
  const auto last = waiting.begin() + static_cast<std::ptrdiff_t>(std::min(waiting.size(), kMaxBatch));
  std::move(waiting.begin(), last, std::back_inserter(batch));
  waiting.erase(waiting.begin(), last);
  return batch;
}

void TraceExporter::State::send(const std::vector<RequestTrace>& batch, uint64_t n_batch_spans) {
  const std::string body = otlp_json(batch, resource);
  std::chrono::milliseconds pause = kFirstPause;
  for (int n_tries = 1;; ++n_tries) {
    const Taken taken = try_to_send(body, n_batch_spans);
    if (taken == Taken::kYes) return;
    const bool is_last = [&] {
      const std::lock_guard lock(mutex);
      return is_ending || n_tries == kMaxTries;
    }();
    if (taken == Taken::kNo || is_last) {
      n_lost += n_batch_spans;
      return;
    }
    wait_for(std::max(pause, std::min(asked_pause, kLongestPause)));
    pause = std::min(2 * pause, kLongestPause);
  }
}

Taken TraceExporter::State::try_to_send(const std::string& body, uint64_t n_batch_spans) {
  hub::HttpCall call;
  call.url = url;
  call.method = "POST";
  // Without the last one, libcurl would wait for permission to send a large body.
  call.headers = {"Content-Type: application/json", "Expect:"};
  call.body = body;
  call.max_bytes = kMaxReplyBytes;
  call.total_timeout = kSendTimeout;
  call.cancelled = &cancelled;
  asked_pause = 0ms;
  const auto reply = client.send(call);
  if (reply.ok()) return take_reply(*reply, n_batch_spans);
  tell(false, reply.error().message);
  return hub::may_pass(reply.error()) ? Taken::kLater : Taken::kNo;
}

Taken TraceExporter::State::take_reply(const hub::HttpReply& reply, uint64_t n_batch_spans) {
  const int status = reply.head.status;
  if (status >= 200 && status < 300) {
    const PartialSuccess said = partial_success_of(reply.body);
    const uint64_t n_rejected = std::min(said.n_rejected, n_batch_spans);
    n_lost += n_rejected;
    n_sent += n_batch_spans - n_rejected;
    tell(n_rejected == 0, fmt::format("it rejects {} of {} spans: {}", n_rejected, n_batch_spans, said.message));
    return Taken::kYes;
  }
  const std::string_view after = reply.head.headers.get("retry-after");
  uint32_t seconds = 0;
  static_cast<void>(std::from_chars(after.data(), after.data() + after.size(), seconds));
  asked_pause = std::min<std::chrono::milliseconds>(std::chrono::seconds(seconds), kLongestPause);
  const bool is_redirect = status >= 300 && status < 400;
  tell(false, is_redirect ? fmt::format("it answers {}, a redirect: name the address that it leads to", status)
                          : fmt::format("it answers {} {}", status, refusal_message(reply.body)));
  // The statuses after which the protocol has clients try again.
  return status == 429 || status == 502 || status == 503 || status == 504 ? Taken::kLater : Taken::kNo;
}

void TraceExporter::State::wait_for(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex);
  changed.wait_for(lock, time, [&] { return is_ending; });
}

// Logs one line when errors begin, and one when they end.
void TraceExporter::State::tell(bool is_well, const std::string& why) {
  if (std::exchange(was_well, is_well) == is_well) return;
  if (is_well) {
    spdlog::info("the collector of traces at {} takes spans again", url.shown());
  } else {
    spdlog::warn(
        "the collector of traces at {} does not accept spans; realizar_trace_spans_lost_total counts the lost ones "
        "({})",
        url.shown(), why);
  }
}

Result<std::unique_ptr<TraceExporter>> TraceExporter::open(const std::string& endpoint, OtlpResource resource) {
  RZ_TRY(hub::Url url, traces_url(endpoint));
  hub::HttpSettings settings;
  settings.takes_proxies = false;
  settings.connect_timeout = kConnectTimeout;
  settings.stall_timeout = kSendTimeout;
  auto client = hub::HttpClient::create(settings);
  if (!client.ok()) {
    Error error = client.error();
    error.message = "--otlp-endpoint: " + error.message;
    return error;
  }
  auto state = std::make_shared<State>(std::move(url), std::move(resource), std::move(*client));
  return caught([&]() -> Result<std::unique_ptr<TraceExporter>> {
    std::thread([state] {
      // Signals are for the threads that wait for them; a broken connection is an error like others.
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_BLOCK, &all, nullptr);
      state->run();
    }).detach();
    return std::unique_ptr<TraceExporter>(new TraceExporter(state));
  });
}

TraceExporter::TraceExporter(std::shared_ptr<State> state) : state_(std::move(state)) {}

TraceExporter::~TraceExporter() {
  std::unique_lock lock(state_->mutex);
  state_->is_ending = true;
  state_->changed.notify_all();
  const auto has_ended = [this] { return state_->has_ended; };
  if (state_->end.wait_for(lock, kMostTimeToFlush, has_ended)) return;
  state_->cancelled = true;
  state_->end.wait_for(lock, kMostTimeToCancel, has_ended);
}

void TraceExporter::add(RequestTrace trace) {
  const uint64_t n = n_spans(trace);
  const Status added = caught([&] {
    const std::lock_guard lock(state_->mutex);
    if (state_->waiting.size() >= kMaxWaiting) {
      state_->n_lost += n;
      return;
    }
    state_->waiting.push_back(std::move(trace));
    if (state_->waiting.size() == 1 || state_->waiting.size() >= kMaxBatch) state_->changed.notify_all();
  });
  if (!added.ok()) state_->n_lost += n;
}

uint64_t TraceExporter::n_sent() const {
  return state_->n_sent;
}

uint64_t TraceExporter::n_lost() const {
  return state_->n_lost;
}

}  // namespace realizar::server
