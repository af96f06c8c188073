// Tells subscribers what the cache of a served model holds: events of KV blocks over ZeroMQ, as vLLM publishes them
// (kv_batch.h), so that a router knows which server has the beginning of a prompt. A message is topic, number (eight
// bytes, the first one first), batch. A further socket repeats messages that a subscriber has missed: it is asked with
// an empty frame and the first number that is wanted, and answers an empty frame, topic, number and batch for each, and
// at last with an empty topic, eight bytes 255 and an empty batch (vLLM 0.26). Both are lossy where nobody reads: no
// request waits for a subscriber. A thread of its own does all of it, and looks for news every 10 ms.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/block_events.h"
#include "realizar/result.h"
#include "server/events/kv_batch.h"
#include "server/events/kv_endpoint.h"
#include "server/events/kv_history.h"
#include "server/events/told_blocks.h"
#include "server/events/zmq_library.h"

namespace realizar::server {

class KvPublisher {
 public:
  struct Options {
    std::string endpoint, replay_endpoint;  // as read_kv_endpoint has them; no replay_endpoint: nothing is repeated
    std::string topic;                      // of all messages; llm-d expects kv@HOST:PORT@MODEL
    size_t max_kept_messages = KvHistory::kMaxMessages;
  };
  // Errors: InvalidArgument (an endpoint, or the system's reason why it cannot listen there), NotFound (no ZeroMQ).
  static Result<std::unique_ptr<KvPublisher>> open(const Options& options);
  KvPublisher(const KvPublisher&) = delete;
  KvPublisher& operator=(const KvPublisher&) = delete;
  // Publishes what there is, and waits a second at most until subscribers have it.
  ~KvPublisher();

  struct Source {
    std::shared_ptr<engine::BlockEvents> events;
    std::vector<uint64_t> roots;  // as ToldBlocks has them
    // Has the engine's thread call events->tell_some(), or events->wish_again() called. It must neither wait nor throw.
    std::function<void()> reach_engine;
  };
  // Any thread. What comes in the place of a source waits until that has ended.
  void watch(Source source);

  // Where subscribers find it, or where it goes; the second is empty where nothing is repeated.
  const std::string& address() const { return address_; }
  const std::string& replay_address() const { return replay_address_; }

 private:
  // Messages on their way to a subscriber that has missed them.
  struct Reply {
    std::string subscriber;
    uint64_t next, end;
  };

  KvPublisher(Options options, std::unique_ptr<Zmq> zmq);
  Status open_sockets(const KvEndpoint& news, const std::optional<KvEndpoint>& replay);

  void run();
  void do_round();
  void take_source();
  void publish_news();
  void publish_batch();
  void take_requests();
  void begin_anew();
  void send_replies();
  bool send_some(Reply& reply);

  const Options options_;
  const std::unique_ptr<Zmq> zmq_;
  std::unique_ptr<ZmqSocket> news_, replay_;
  std::string address_, replay_address_;
  KvHistory history_;
  std::deque<Reply> replies_;
  // The model that is told of.
  std::optional<Source> source_;
  std::optional<ToldBlocks> told_;
  KvLayout layout_;
  KvBatch batch_;
  std::mutex mutex_;
  std::deque<Source> next_sources_;  // guarded by the mutex
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace realizar::server
