#include "server/events/kv_publisher.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "base/caught.h"
#include "base/try.h"

namespace realizar::server {
namespace {

constexpr int kRoundMs = 10;
constexpr int kLingerMs = 1000;
constexpr int kReconnectMaxMs = 5000;
constexpr int kEventsLimit = 2000;        // messages queued for a subscriber; it loses further ones
constexpr int kReplyLimit = 100;          // the same for replayed messages; the rest follow later
constexpr int kRequestLimit = 100;        // queued requests
constexpr int64_t kMaxHeardBytes = 1024;  // of a message from outside: a request, or a subscription to a topic
constexpr size_t kMaxFrameBytes = 256;    // an identity has at most 255
constexpr size_t kMaxReplies = 16;        // at once; clients that ask during that time get none, and ask again
constexpr size_t kMaxRequests = 16;       // per round
constexpr size_t kMaxRepeated = 500;      // messages per round and subscriber
constexpr uint64_t kEndNumber = ~uint64_t{0};

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Status open_at(ZmqSocket& socket, const KvEndpoint& endpoint, const char* flag) {
  socket.set(ZmqOption::kLinger, kLingerMs);
  socket.set_max_message_bytes(kMaxHeardBytes);
  if (endpoint.is_ipv6) socket.set(ZmqOption::kIpv6, 1);
  const Status status = endpoint.binds ? socket.bind(endpoint.address) : socket.connect(endpoint.address);
  if (status.ok()) return {};
  return invalid_argument(
      fmt::format("{}: cannot {} {}: {}; expected an address of this machine and a port that no "
                  "other program has",
                  flag, endpoint.binds ? "listen on" : "connect to", endpoint.address, status.error().message),
      "kv_events");
}

}  // namespace

Result<std::unique_ptr<KvPublisher>> KvPublisher::open(const Options& options) {
  RZ_TRY(const KvEndpoint events, read_kv_endpoint(options.endpoint, "--kv-events", false));
  std::optional<KvEndpoint> replay;
  if (!options.replay_endpoint.empty()) {
    RZ_TRY(replay, read_kv_endpoint(options.replay_endpoint, "--kv-events-replay", true));
  }
  RZ_TRY(auto zmq, Zmq::open());
  std::unique_ptr<KvPublisher> publisher(new KvPublisher(options, std::move(zmq)));
  RZ_CHECK_OK(publisher->open_sockets(events, replay));
  publisher->thread_ = std::thread([raw = publisher.get()] { raw->run(); });
  return publisher;
}

KvPublisher::KvPublisher(Options options, std::unique_ptr<Zmq> zmq)
    : options_(std::move(options)),
      zmq_(std::move(zmq)),
      history_(options_.replay_endpoint.empty() ? 0 : options_.max_kept_messages) {}

Status KvPublisher::open_sockets(const KvEndpoint& events, const std::optional<KvEndpoint>& replay) {
  RZ_TRY(events_, zmq_->make_socket(ZmqType::kPub));
  events_->set(ZmqOption::kSendLimit, kEventsLimit);
  events_->set(ZmqOption::kReconnectMaxMs, kReconnectMaxMs);
  RZ_CHECK_OK(open_at(*events_, events, "--kv-events"));
  address_ = events_->last_endpoint();
  if (!replay) return {};
  RZ_TRY(replay_, zmq_->make_socket(ZmqType::kRouter));
  replay_->set(ZmqOption::kSendLimit, kReplyLimit);
  replay_->set(ZmqOption::kReceiveLimit, kRequestLimit);
  replay_->set(ZmqOption::kRefuseUnroutable, 1);
  RZ_CHECK_OK(open_at(*replay_, *replay, "--kv-events-replay"));
  replay_address_ = replay_->last_endpoint();
  return {};
}

KvPublisher::~KvPublisher() {
  stopping_.store(true, std::memory_order_release);
  if (thread_.joinable()) thread_.join();
}

void KvPublisher::watch(Source source) {
  const std::lock_guard lock(mutex_);
  next_sources_.push_back(std::move(source));
}

// After a round that failed from lack of memory, it is unknown which events were published.
void KvPublisher::run() {
  bool is_over = false;
  while (!is_over) {
    is_over = stopping_.load(std::memory_order_acquire);
    const Status status = caught([&] { do_round(); });
    if (!status.ok() && source_) source_->events->tell_anew();
    if (!is_over) zmq_->wait(replay_.get(), kRoundMs);
  }
}

void KvPublisher::do_round() {
  take_source();
  publish_events();
  if (replay_ == nullptr) return;
  take_requests();
  std::erase_if(replies_, [this](Reply& reply) { return send_some(reply); });
}

void KvPublisher::take_source() {
  if (source_) return;
  const std::lock_guard lock(mutex_);
  if (next_sources_.empty()) return;
  source_ = std::move(next_sources_.front());
  next_sources_.pop_front();
  const engine::BlockEvents& events = *source_->events;
  layout_ = {events.block_tokens(), {events.windows().begin(), events.windows().end()}, events.has_states()};
  told_.emplace(source_->roots);
}

void KvPublisher::publish_events() {
  if (!source_) return;
  engine::BlockEvents& events = *source_->events;
  for (size_t n = 0; n < engine::BlockEvents::kCapacity; ++n) {
    const engine::BlockEvent* event = events.front();
    if (event == nullptr) break;
    told_->apply(*event, batch_);
    events.pop();
    if (n % KvBatch::kMaxBlocks == KvBatch::kMaxBlocks - 1) publish_batch();
  }
  const bool has_ended = events.has_ended();
  if (has_ended) batch_.add_cleared();
  publish_batch();
  if (has_ended) {
    source_.reset();
  } else if (events.take_wish()) {
    source_->reach_engine();
  }
}

void KvPublisher::publish_batch() {
  while (!batch_.is_empty()) {
    std::string payload = batch_.take(seconds_now(), layout_);
    const std::string number = kv_number_bytes(history_.next());
    events_->send({options_.topic, number, payload});
    history_.add(std::move(payload));
  }
}

void KvPublisher::take_requests() {
  for (size_t n = 0; n < kMaxRequests; ++n) {
    auto frames = replay_->receive(kMaxFrameBytes);
    if (!frames) return;
    std::string subscriber = std::move(frames->front());
    frames->erase(frames->begin());
    const auto number = read_kv_request(*frames);
    if (!number || replies_.size() >= kMaxReplies) continue;
    const bool is_gone = *number < history_.next() && history_.find(*number) == nullptr;
    if (is_gone) begin_anew();
    replies_.push_back({std::move(subscriber), *number, history_.next()});
  }
}

// Publishes the whole content again, from number 0 on, so that no replay requests more than is kept.
void KvPublisher::begin_anew() {
  for (Reply& reply : replies_) reply.end = 0;
  history_.begin_anew();
  batch_.add_cleared();
  if (source_) {
    told_.emplace(source_->roots);
    source_->events->tell_anew();
  }
  publish_batch();
}

// True: all was sent, or the subscriber has disconnected.
bool KvPublisher::send_some(Reply& reply) {
  for (size_t n = 0; n < kMaxRepeated; ++n) {
    const std::string* payload = reply.next < reply.end ? history_.find(reply.next) : nullptr;
    const std::string number = kv_number_bytes(payload != nullptr ? reply.next : kEndNumber);
    const ZmqSent sent = payload != nullptr ? replay_->send({reply.subscriber, "", options_.topic, number, *payload})
                                            : replay_->send({reply.subscriber, "", "", number, ""});
    if (sent == ZmqSent::kNoRoom) return false;
    if (sent == ZmqSent::kNoPeer || payload == nullptr) return true;
    ++reply.next;
  }
  return false;
}

}  // namespace realizar::server
