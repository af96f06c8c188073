// Publishes the content of a served model's cache: events of KV blocks over ZeroMQ, in vLLM's format (kv_batch.h), so
// that a router knows which server has the beginning of a prompt. A message consists of a topic, a number (eight bytes,
// big-endian) and a batch. A second socket replays messages that a subscriber has missed: a request has an empty frame
// and the first requested number; the answer has an empty frame, topic, number and batch for each message, and at the
// end an empty topic, eight bytes 255 and an empty batch (vLLM 0.26). Both lose messages if nobody reads them: no
// request waits for a subscriber. A separate thread does all of this, and looks for new events every 10 ms.
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
    std::string endpoint, replay_endpoint;  // as in read_kv_endpoint(); no replay_endpoint: no replay
    std::string topic;                      // of all messages; llm-d expects kv@HOST:PORT@MODEL
    size_t max_kept_messages = KvHistory::kMaxMessages;
  };
  // Errors: InvalidArgument (an endpoint, or the system's reason why it cannot listen there), NotFound (no ZeroMQ).
  static Result<std::unique_ptr<KvPublisher>> open(const Options& options);
  KvPublisher(const KvPublisher&) = delete;
  KvPublisher& operator=(const KvPublisher&) = delete;
  // Publishes the remaining events, and waits at most a second until subscribers have them.
  ~KvPublisher();

  struct Source {
    std::shared_ptr<engine::BlockEvents> events;
    std::vector<uint64_t> roots;  // as in ToldBlocks
    // Makes the engine's thread call events->tell_some(), or calls events->wish_again(). Must neither wait nor throw.
    std::function<void()> reach_engine;
  };
  // Any thread. A new source replaces the old one only when that has ended.
  void watch(Source source);

  // The address that it is bound or connected to; the second one is empty without replay.
  const std::string& address() const { return address_; }
  const std::string& replay_address() const { return replay_address_; }

 private:
  // Messages being replayed to a subscriber that has missed them.
  struct Reply {
    std::string subscriber;
    uint64_t next, end;
  };

  KvPublisher(Options options, std::unique_ptr<Zmq> zmq);
  Status open_sockets(const KvEndpoint& events, const std::optional<KvEndpoint>& replay);

  void run();
  void do_round();
  void take_source();
  void publish_events();
  void publish_batch();
  void take_requests();
  void begin_anew();
  bool send_some(Reply& reply);

  const Options options_;
  const std::unique_ptr<Zmq> zmq_;
  std::unique_ptr<ZmqSocket> events_, replay_;
  std::string address_, replay_address_;
  KvHistory history_;
  std::deque<Reply> replies_;
  // The model whose events are published.
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
