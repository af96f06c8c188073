#include "fleet.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <utility>

#include "base/check.h"
#include "base/try.h"

namespace realizar::fleet {
namespace {

constexpr kv::HashKey kBlockKey = {0x626c6f636b73, 0x6e616d6573};
constexpr TokenId kOtherAnswer{0};  // generated workloads do not contain this token

struct Event {
  double at_s;
  uint64_t order;  // of two at the same time, the one that was planned first
  enum class Kind : uint8_t { kConversation, kTurn, kStepEnd } kind;
  size_t idx;  // of the active conversation, or the server

  bool operator>(const Event& other) const { return std::pair(at_s, order) > std::pair(other.at_s, other.order); }
};

// An active conversation, and the request of its current turn.
struct Talk {
  Conversation conversation;
  size_t turn = 0;
  Call call;
};

double percentile(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(values.size())));
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(std::max<size_t>(rank, 1) - 1);
  std::ranges::nth_element(values, place);
  return *place;
}

class Fleet {
 public:
  Fleet(const FleetOptions& options, Workload& workload) : options_(options), workload_(workload) {
    options_.router.key = kBlockKey;
    options_.router.block_tokens = options_.server.engine.block_tokens;
    router_ = make_router(options_.router);
    for (uint32_t i = 0; i < options_.router.n_servers; ++i) {
      servers_.push_back(std::make_unique<Server>(options_.server, kBlockKey, options_.seed + i));
    }
    is_busy_.resize(servers_.size());
    other_answer_.assign(options_.server.engine.n_ctx, kOtherAnswer);
  }

  Result<FleetResult> run() {
    begin();
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      clock_.now_s = event.at_s;
      RZ_CHECK_OK(take(event));
      result_.is_overloaded = options_.max_open > 0 && n_open_ > options_.max_open;
      if (result_.is_overloaded) break;
    }
    return finish();
  }

 private:
  bool has_clients() const { return options_.n_clients > 0; }

  void plan(double at_s, Event::Kind kind, size_t idx) { events_.push({at_s, n_planned_++, kind, idx}); }

  void begin() {
    const uint32_t n = std::max(options_.n_clients, 1u);
    for (uint32_t i = 0; i < n; ++i) next_conversation();
  }

  // With clients the next one begins now, otherwise when it arrives.
  void next_conversation() {
    auto conversation = workload_.next();
    if (!conversation || (!has_clients() && conversation->arrival_s >= options_.end_s)) return;
    const double at_s = has_clients() ? clock_.now_s : conversation->arrival_s;
    size_t idx = talks_.size();
    if (free_talks_.empty()) {
      talks_.emplace_back();
    } else {
      idx = free_talks_.back();
      free_talks_.pop_back();
    }
    talks_[idx] = std::make_unique<Talk>();
    talks_[idx]->conversation = std::move(*conversation);
    plan(at_s, Event::Kind::kConversation, idx);
  }

  Status take(const Event& event) {
    if (event.kind == Event::Kind::kStepEnd) {
      end_step(static_cast<uint32_t>(event.idx));
      return {};
    }
    if (event.kind == Event::Kind::kConversation && !has_clients()) next_conversation();
    return send(event.idx);
  }

  Status send(size_t idx) {
    Talk& talk = *talks_[idx];
    const Conversation& conversation = talk.conversation;
    const Turn& turn = conversation.turns[talk.turn];
    Call& call = talk.call;
    call = {};
    const auto prompt = conversation.prompt(turn);
    call.request.prompt.assign(prompt.begin(), prompt.end());
    call.request.max_tokens = turn.n_output;
    call.request.tenant = options_.has_keys ? conversation.tenant : 0;
    call.request.cache_salt = call.request.tenant;
    call.answer = options_.has_other_answers ? std::span<const TokenId>(other_answer_) : conversation.answer(turn);
    call.clock = &clock_;
    call.conversation = conversation.id;
    call.talk = idx;
    call.sent_s = clock_.now_s;
    call.begun = &begun_;
    call.ended = &ended_;
    hear_events();
    call.server = router_->pick(call);
    RZ_CHECK_OK(servers_[call.server]->submit(call));
    router_->on_sent(call);
    ++result_.n_sent;
    ++n_open_;
    if (!is_busy_[call.server]) begin_step(call.server);
    return {};
  }

  void begin_step(uint32_t server) {
    const double ms = servers_[server]->begin_step(clock_.now_s);
    publish(server);  // blocks allocated for the step
    is_busy_[server] = ms > 0;
    if (ms > 0) plan(clock_.now_s + ms / 1e3, Event::Kind::kStepEnd, server);
  }

  void end_step(uint32_t server) {
    servers_[server]->end_step();
    publish(server);
    for (const Call* call : begun_) router_->on_first_token(*call);
    begun_.clear();
    std::vector<Call*> ended;  // a conversation that ends may begin the next one
    ended.swap(ended_);
    for (const Call* call : ended) end_turn(*call);
    begin_step(server);
  }

  void end_turn(const Call& call) {
    router_->on_ended(call);
    --n_open_;
    measure(call);
    Talk& talk = *talks_[call.talk];
    const size_t idx = call.talk;
    if (++talk.turn < talk.conversation.turns.size()) {
      const double at_s = clock_.now_s + (has_clients() ? 0 : talk.conversation.turns[talk.turn].think_s);
      if (has_clients() || at_s < options_.end_s) return plan(at_s, Event::Kind::kTurn, idx);
    }
    talks_[idx].reset();
    free_talks_.push_back(idx);
    if (has_clients()) next_conversation();
  }

  void measure(const Call& call) {
    const bool has_all = call.reason == FinishReason::kLength || call.reason == FinishReason::kContext;
    result_.n_ended += has_all ? 1 : 0;
    last_end_s_ = clock_.now_s;
    if (!has_clients() && call.sent_s < options_.begin_s) return;
    ++result_.n_measured;
    result_.n_prompt_tokens += call.request.prompt.size();
    result_.n_cached_tokens += call.n_cached;
    result_.n_output_tokens += *call.request.max_tokens;
    first_tokens_s_.push_back(call.first_token_s - call.sent_s);
  }

  void publish(uint32_t server) {
    std::vector<KvEvent>& events = servers_[server]->events();
    if (options_.router.policy == Policy::kKvEvents) {
      for (const KvEvent& event : events) published_.push_back({clock_.now_s + options_.event_delay_s, server, event});
    }
    events.clear();
  }

  void hear_events() {
    for (; !published_.empty() && published_.front().at_s <= clock_.now_s; published_.pop_front()) {
      router_->on_event(published_.front().server, published_.front().event);
    }
  }

  FleetResult finish() {
    result_.seconds = last_end_s_;
    for (const auto& server : servers_) {
      const double share = last_end_s_ > 0 ? server->busy_s() / last_end_s_ : 0;
      result_.busy_mean += share / static_cast<double>(servers_.size());
      result_.busy_most = std::max(result_.busy_most, share);
      result_.n_preemptions += server->counters().n_preemptions;
      REQUIRE(server->n_open() == 0 || result_.is_overloaded);
    }
    for (const double s : first_tokens_s_)
      result_.first_token_mean_s += s / static_cast<double>(first_tokens_s_.size());
    result_.first_token_p50_s = percentile(first_tokens_s_, 0.5);
    result_.first_token_p99_s = percentile(first_tokens_s_, 0.99);
    return result_;
  }

  struct Published {
    double at_s;
    uint32_t server;
    KvEvent event;
  };

  FleetOptions options_;
  Workload& workload_;
  FleetClock clock_;
  std::unique_ptr<Router> router_;
  std::vector<std::unique_ptr<Talk>> talks_;  // before the servers, whose sequences refer to them
  std::vector<size_t> free_talks_;
  std::vector<TokenId> other_answer_;
  std::vector<Call*> begun_, ended_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<bool> is_busy_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  uint64_t n_planned_ = 0, n_open_ = 0;
  std::deque<Published> published_;
  std::vector<double> first_tokens_s_;
  double last_end_s_ = 0;
  FleetResult result_;
};

}  // namespace

Result<FleetResult> simulate(const FleetOptions& options, Workload& workload) {
  return Fleet(options, workload).run();
}

}  // namespace realizar::fleet
