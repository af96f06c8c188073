#include "server/call/background.h"

#include <algorithm>

#include "base/caught.h"
#include "server/call/context.h"
#include "server/call/response_store.h"

namespace realizar::server {
namespace {

constexpr size_t kMaxEventBytes = 64u << 10;
constexpr size_t kMaxRecords = 1000;
constexpr std::string_view kEventEnd = "\n\n";

// A call without a client, in place of `call`.
CallPtr detached(const Call& call, const BackgroundRecordPtr& record) {
  const CallPtr begun = Call::begin(call.context, call.request, record);
  Call& own = *begun;
  own.is_detached = true;
  own.is_logged = false;
  own.id = call.id;
  own.protocol = call.protocol;
  own.route = call.route;
  own.start = call.start;
  own.key = call.key;
  own.tenant = call.tenant;
  own.client = call.client;
  own.record = call.record;
  own.span = call.span;
  own.count_as_open();
  return begun;
}

}  // namespace

void BackgroundRecord::send(HttpResponse response) {
  refusal_ = std::move(response);
  finish();
}

// Comments, which keep connections alive, are not events.
void BackgroundRecord::write(std::string_view bytes) {
  const bool is_between_events = events_.size() == (ends_.empty() ? 0 : ends_.back());
  if (is_forgotten_ || (is_between_events && bytes.starts_with(':'))) return;
  if (!take_room_(bytes.size())) return forget();
  const size_t before = events_.size();
  events_ += bytes;
  // The end of an event may arrive in two pieces.
  const size_t begin = is_between_events ? before : before - 1;
  for (size_t at = events_.find(kEventEnd, begin); at != std::string::npos; at = events_.find(kEventEnd, at)) {
    at += kEventEnd.size();
    ends_.push_back(at);
  }
  tell_followers();
}

void BackgroundRecord::forget() {
  is_forgotten_ = true;
  leave_room_(events_.size());
  std::string().swap(events_);
  std::vector<size_t>().swap(ends_);
  tell_followers();
}

void BackgroundRecord::finish() noexcept {
  is_over_ = true;
  static_cast<void>(caught([&] { tell_followers(); }));
}

// A follower may leave during the call.
void BackgroundRecord::tell_followers() {
  for (Call* follower : std::vector<Call*>(followers_)) {
    if (std::ranges::find(followers_, follower) != followers_.end()) follower->signal_update();
  }
}

std::string_view BackgroundRecord::events_from(size_t first, size_t& next) const {
  next = first;
  if (first >= ends_.size()) return {};
  const size_t begin = first == 0 ? 0 : ends_[first - 1];
  while (next < ends_.size() && (next == first || ends_[next] - begin <= kMaxEventBytes)) ++next;
  return std::string_view(events_).substr(begin, ends_[next - 1] - begin);
}

void BackgroundRecord::cancel() {
  const auto call = std::static_pointer_cast<Call>(listener.lock());
  if (!is_over_ && call != nullptr) call->interrupt({ErrorCode::kCancelled, "the response was cancelled", ""});
}

BackgroundRecordPtr BackgroundRecords::add(uint64_t tenant, const std::string& id) {
  if (entries_.size() >= kMaxRecords) drop_ended(std::nullopt);
  auto record =
      std::make_shared<BackgroundRecord>([this, tenant](size_t n_bytes) { return take_room(tenant, n_bytes); },
                                         [this, tenant](size_t n_bytes) { leave_room(tenant, n_bytes); });
  entries_.push_back({tenant, id, record});
  return record;
}

BackgroundRecordPtr BackgroundRecords::find(uint64_t tenant, const std::string& id) const {
  const auto entry =
      std::ranges::find_if(entries_, [&](const Entry& one) { return one.tenant == tenant && one.id == id; });
  return entry == entries_.end() ? nullptr : entry->record;
}

void BackgroundRecords::erase(uint64_t tenant, const std::string& id) {
  const auto entry =
      std::ranges::find_if(entries_, [&](const Entry& one) { return one.tenant == tenant && one.id == id; });
  if (entry != entries_.end()) remove(entry);
}

bool BackgroundRecords::take_room(uint64_t tenant, size_t n_bytes) {
  while (n_bytes_of_[tenant] + n_bytes > max_bytes_of_one_) {
    if (!drop_ended(tenant)) return false;
  }
  while (n_bytes_ + n_bytes > max_bytes_) {
    if (!drop_ended(std::nullopt)) return false;
  }
  n_bytes_of_[tenant] += n_bytes;
  n_bytes_ += n_bytes;
  return true;
}

bool BackgroundRecords::drop_ended(std::optional<uint64_t> tenant) {
  const auto ended = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.record->is_over() && tenant.value_or(entry.tenant) == entry.tenant;
  });
  if (ended == entries_.end()) return false;
  remove(ended);
  return true;
}

void BackgroundRecords::leave_room(uint64_t tenant, size_t n_bytes) {
  n_bytes_ -= n_bytes;
  const auto of_tenant = n_bytes_of_.find(tenant);
  if (of_tenant != n_bytes_of_.end() && (of_tenant->second -= n_bytes) == 0) n_bytes_of_.erase(of_tenant);
}

// Notifies remaining readers that nothing follows.
void BackgroundRecords::remove(std::list<Entry>::iterator entry) {
  const BackgroundRecordPtr gone = entry->record;
  entries_.erase(entry);
  gone->forget();
}

Task<Status> generate_in_background(Call& call, ServedModelPtr model, CompletionPlan plan) {
  const std::string id = plan.background_id;
  const bool streams = std::exchange(plan.stream, true);
  plan.tells_progress = true;
  BackgroundRecords& records = call.context.background;
  const BackgroundRecordPtr record = records.add(call.tenant, id);
  const CallPtr own = detached(call, record);
  own->run(generate(*own, std::move(model), std::move(plan)));
  if (record->refusal()) {
    call.send(*record->refusal());
    records.erase(call.tenant, id);
    co_return Status();
  }
  const StoredResponsePtr stored = call.context.responses.find(call.tenant, id);
  if (stored == nullptr) {
    record->cancel();
    records.erase(call.tenant, id);
    co_return invalid_argument("background: there is no room to store the response", "background");
  }
  // The request is logged when the response is complete, with its tokens and times.
  if (!record->is_over()) std::swap(call.is_logged, own->is_logged);
  if (streams) RZ_CO_CHECK_OK(co_await follow(call, record, 0));
  if (!streams) call.send({200, "application/json", stored->response, {}});
  co_return Status();
}

Task<Status> follow(Call& call, BackgroundRecordPtr record, size_t first) {
  record->followers_.push_back(&call);
  const AtEnd unfollowed([&] { std::erase(record->followers_, &call); });
  call.begin_stream(stream_head(*call.protocol));
  size_t next = first;
  while (true) {
    if (record->is_forgotten()) {
      co_return invalid_argument("the events of this response are no longer stored; GET it without stream", "stream");
    }
    if (!call.is_congested() && next < record->n_events()) {
      const size_t from = next;
      call.write(record->events_from(from, next));
      continue;
    }
    if (record->is_over() && next >= record->n_events()) break;
    UpdateWait update(call);
    RZ_CO_CHECK_OK(co_await update);
  }
  call.end();
  co_return Status();
}

}  // namespace realizar::server
