// Prefixes that servers share through a Redis, a tier below memory and disk: one server finds what another has
// computed. A request's missing blocks are fetched before it is passed to the engine, for at most the time that
// computing them would take; the blocks that a request has left in the cache are sent when it ends. Separate threads do
// both; the engine's thread only copies pieces, some at a time, between steps. Redis may be slow, full, unreachable or
// wrong: that only costs time, within the limits given here.
//
// A fetched block is checked (shared_value.h) and added to the engine's cache under the names that follow from the
// request's salt, so that a request finds its own as if this server had computed it.
//
// shared_fetches.cpp contains waiting requests, shared_stores.cpp sending, and shared_prefixes.cpp the common parts.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "realizar/generation.h"
#include "realizar/request.h"
#include "realizar/result.h"
#include "server/http/auth.h"
#include "server/models/served_model.h"
#include "server/shared/cache_url.h"
#include "server/shared/fetch_pace.h"
#include "server/shared/shared_counters.h"
#include "server/shared/shared_threads.h"
#include "server/shared/shared_transfer.h"

namespace realizar::server {

struct SharedOptions {
  CacheUrl url;
  std::string password;             // "": none
  uint32_t ttl_s = 24 * 60 * 60;    // after which Redis drops a value
  std::optional<uint32_t> wait_ms;  // maximum for a request; nullopt: the time of computing
};

class SharedPrefixes {
 public:
  // Connects; without an answer it logs that, and keeps trying to reach Redis. Errors: InvalidArgument if Redis refuses
  // the user or the password.
  static Result<std::unique_ptr<SharedPrefixes>> open(SharedOptions options);
  ~SharedPrefixes() { stop(); }
  SharedPrefixes(const SharedPrefixes&) = delete;
  SharedPrefixes& operator=(const SharedPrefixes&) = delete;

  // The following is for the I/O thread, unless a function says otherwise. `post_io` runs a task there, from any
  // thread.
  void start(std::function<void(std::function<void()>)> post_io);
  // Releases models, and ends all waits. To be called before models and the I/O thread end.
  void stop();

  // Looks for the blocks of the request's prompt that the model's cache lacks. False: not worth it, or Redis is
  // unreachable, and `then` is never called. Otherwise it is called once, from any thread: when all available blocks
  // have arrived, or the time is over. `cache_name`: as in SharedNames.
  bool fetch(const ServedModelPtr& model, const Request& request, std::string_view cache_name,
             std::function<void()> then);
  // Sends the model's cached blocks of these tokens: the request's prompt and its answer.
  void offer(const ServedModelPtr& model, const Request& request, std::string_view cache_name,
             std::span<const TokenId> tokens);
  // Measures a request that has computed some of its prompt: its rate decides when fetching is worth it.
  void observe(const ServedModel& model, const GenerationStats& stats);

  // Makes Redis drop all prefixes of an API key that any server has sent; zeros: of requests without keys. Running
  // transfers end. `then` is called once, from any thread, unless the server ends: with NotFound if Redis does not
  // answer.
  void forget(const KeyDigest& key, std::function<void(const Status&)> then);

  // Any thread.
  const SharedCounters& counters() const { return counters_; }

 private:
  explicit SharedPrefixes(SharedOptions options)
      : options_(std::move(options)),
        health_("Redis at " + options_.url.shown(), counters_),
        threads_(options_.url, options_.password, health_),
        sent_(kMostNames),
        local_(kMostNames) {}
  Status connect();

  using Clock = SharedTransfer::Clock;
  using PieceAt = engine::PieceAt;

  static constexpr size_t kSliceBytes = 8 << 20;         // that the engine copies between two steps
  static constexpr size_t kPiecesAtOnce = 256;           // per question
  static constexpr size_t kReplyBytes = 256;             // of a number or an error
  static constexpr size_t kMostNames = size_t{1} << 17;  // that are remembered

  enum class Outcome : uint8_t { kHit, kMiss, kLate, kLocal };
  static Outcome outcome_of(const Error& error) {
    return error.subject == kRedisIsSlow ? Outcome::kLate : Outcome::kMiss;
  }

  SharedTransferPtr make_transfer(const ServedModelPtr& model, const Request& request,
                                  const engine::Engine::PrefixSalt& salt, std::string_view cache_name,
                                  std::span<const TokenId> tokens, bool is_store);
  void bury(SharedTransfer* gone);
  void delete_gone();
  void visit(const SharedTransferPtr& transfer, std::function<void(engine::Engine&)> f);

  bool is_local(const SharedTransfer& transfer);
  void note_local(const SharedTransfer& transfer, uint32_t n_blocks);
  bool begin_waiting(const SharedTransferPtr& transfer, std::optional<uint32_t> timeout_ms);
  using Waiting = std::multimap<Clock::time_point, SharedTransferPtr>;  // fetches, by their deadlines
  Waiting::iterator find_waiting(const SharedTransferPtr& transfer);
  void shorten_deadline(const SharedTransferPtr& transfer, double budget_ms);
  void finish(const SharedTransferPtr& transfer, Outcome outcome);
  void watch_deadlines();

  bool try_fetch(const ServedModelPtr& model, const Request& request, std::string_view cache_name,
                 std::function<void()> then);
  void begin_fetch(const SharedTransferPtr& transfer);
  void look_up(RedisLink& link, const SharedTransferPtr& transfer);
  void fetch_some(RedisLink& link, const SharedTransferPtr& transfer);
  size_t read_values(RedisLink& link, SharedTransfer& transfer, size_t end, const RedisReply& reply,
                     std::span<std::byte> slice);
  void note_pace(const RedisLink& link, const Error* error, size_t n_asked_bytes, Clock::time_point asked_at);
  void add_slice(const SharedTransferPtr& transfer, size_t begin, size_t end, std::vector<std::byte> slice);
  void on_added(const SharedTransferPtr& transfer);

  void try_offer(const ServedModelPtr& model, const Request& request, std::string_view cache_name,
                 std::span<const TokenId> tokens);
  void begin_store(const SharedTransferPtr& transfer);
  void choose_pieces(RedisLink& link, const SharedTransferPtr& transfer);
  void store_some(const SharedTransferPtr& transfer);
  void send_slice(RedisLink& link, const SharedTransferPtr& transfer, size_t end, std::span<const std::byte> slice,
                  const std::vector<bool>& are_read);

  Result<std::vector<bool>> exist(RedisLink& link, const SharedTransfer& transfer, std::span<const PieceAt> pieces,
                                  std::optional<Clock::time_point> deadline);
  bool is_forgotten(const SharedTransfer& transfer) const { return transfer.n_forgotten != n_forgotten_; }
  static Status remove_all(RedisLink& link, const std::string& beginning);
  bool are_all_sent(const SharedTransfer& transfer);
  bool is_sent(const SharedTransfer& transfer, const PieceAt& piece);
  void note_sent(const SharedTransfer& transfer, const PieceAt& piece, bool is_there);

  const SharedOptions options_;
  SharedCounters counters_;
  RedisHealth health_;
  SharedThreads threads_;
  // Only for the I/O thread.
  std::map<std::string, ComputeRate> rates_;  // by model id
  std::function<void(std::function<void()>)> post_io_;

  std::atomic<uint64_t> n_forgotten_{0};  // number of calls that forgot some

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  FetchPace pace_;
  RecentNames sent_;   // to Redis: names of pieces, and the time in seconds
  RecentNames local_;  // in a cache: names of blocks, and its number of evictions at that time
  Waiting waiting_;
  SharedTransfer* gone_ = nullptr;  // a list of those to be deleted
  size_t n_live_ = 0, n_stores_ = 0;
  bool is_stopped_ = false;
  std::thread watcher_;  // for deadlines
};

}  // namespace realizar::server
