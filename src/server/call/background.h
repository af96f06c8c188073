// Responses that are made whether or not their clients wait for them. A separate call makes each, and replies to a
// record of its events; readers follow the record. I/O thread.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/call/call.h"
#include "server/call/completion.h"
#include "server/http/http.h"

namespace realizar::server {

// The reply of a call that makes a response in the background.
class BackgroundRecord final : public Reply {
 public:
  // `take_room` is called before bytes are kept; false: there is no room, and the events are dropped. `leave_room` is
  // called for kept bytes that are dropped.
  BackgroundRecord(std::function<bool(size_t n_bytes)> take_room, std::function<void(size_t n_bytes)> leave_room)
      : take_room_(std::move(take_room)), leave_room_(std::move(leave_room)) {}

  void send(HttpResponse response) override;
  void begin_stream(HttpResponse) override {}
  void write(std::string_view bytes) override;
  void end() override { finish(); }
  bool is_congested() const override { return false; }
  void drop() noexcept override { finish(); }

  // Why the call made no response; nullopt: it made one.
  const std::optional<HttpResponse>& refusal() const { return refusal_; }
  bool is_over() const { return is_over_; }
  // Its events exceeded the limit.
  bool is_forgotten() const { return is_forgotten_; }
  size_t n_events() const { return ends_.size(); }
  // Events from the i-th on, up to about 64 KB, but at least one if there is one; `next`: the first after them.
  std::string_view events_from(size_t first, size_t& next) const;
  // Ends the call.
  void cancel();
  void forget();

 private:
  friend Task<Status> follow(Call& call, std::shared_ptr<BackgroundRecord> record, size_t first);
  void finish() noexcept;
  void tell_followers();

  std::function<bool(size_t)> take_room_;
  std::function<void(size_t)> leave_room_;
  std::string events_;        // in the form in which they are sent
  std::vector<size_t> ends_;  // of each event
  std::vector<Call*> followers_;
  std::optional<HttpResponse> refusal_;
  bool is_over_ = false, is_forgotten_ = false;
};
using BackgroundRecordPtr = std::shared_ptr<BackgroundRecord>;

// All records, in bounded memory: those that ended longest ago are dropped first. A record without room for its events
// continues without them.
class BackgroundRecords {
 public:
  BackgroundRecords(uint64_t max_bytes, uint64_t max_bytes_of_one)
      : max_bytes_(max_bytes), max_bytes_of_one_(max_bytes_of_one) {}

  BackgroundRecordPtr add(uint64_t tenant, const std::string& id);
  // Null if the tenant has none with that id.
  BackgroundRecordPtr find(uint64_t tenant, const std::string& id) const;
  void erase(uint64_t tenant, const std::string& id);

 private:
  struct Entry {
    uint64_t tenant;
    std::string id;
    BackgroundRecordPtr record;
  };
  bool take_room(uint64_t tenant, size_t n_bytes);
  void leave_room(uint64_t tenant, size_t n_bytes);
  // Drops an ended record. False if `tenant` has none, or nobody has if it is nullopt.
  bool drop_ended(std::optional<uint64_t> tenant);
  void remove(std::list<Entry>::iterator entry);

  const uint64_t max_bytes_, max_bytes_of_one_;
  std::list<Entry> entries_;  // the oldest first
  std::map<uint64_t, uint64_t> n_bytes_of_;
  uint64_t n_bytes_ = 0;
};

// Starts `plan`, which has a background_id, on a separate call, and answers `call` with the beginning of the response,
// or with its events if the plan streams.
Task<Status> generate_in_background(Call& call, ServedModelPtr model, CompletionPlan plan);

// Answers `call` with the record's events from the i-th on, until the record ends.
Task<Status> follow(Call& call, BackgroundRecordPtr record, size_t first);

}  // namespace realizar::server
