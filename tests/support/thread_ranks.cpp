#include "support/thread_ranks.h"

#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backend/ranks/ranked_backend.h"
#include "base/check.h"
#include "base/try.h"

namespace realizar::test {

struct ThreadExchanges::Hub {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::pair<uint32_t, uint32_t>, std::deque<std::vector<std::byte>>> messages;  // from, to
  std::optional<uint32_t> lost;
};

class ThreadExchanges::One final : public Exchange {
 public:
  One(Hub& hub, uint32_t rank, uint32_t n_ranks) : hub_(hub), rank_(rank), n_ranks_(n_ranks) {}

  uint32_t rank() const override { return rank_; }
  uint32_t n_ranks() const override { return n_ranks_; }
  uint32_t n_host_ranks() const override { return n_ranks_; }
  uint32_t host_rank() const override { return rank_; }
  std::string name_of(uint32_t rank) const override { return "rank " + std::to_string(rank) + " (thread)"; }

  Status transfer(std::span<const Outgoing> out, std::span<const Incoming> in) override {
    {
      const std::scoped_lock lock(hub_.mutex);
      for (const Outgoing& message : out) {
        hub_.messages[{rank_, message.to}].emplace_back(message.bytes.begin(), message.bytes.end());
        ++use_.n_messages;
        use_.n_bytes += message.bytes.size();
      }
    }
    hub_.changed.notify_all();
    for (const Incoming& message : in) {
      RZ_TRY(const size_t n_bytes, receive(message));
      REQUIRE(n_bytes == message.bytes.size());
    }
    return is_lost() ? Status(error()) : Status();
  }
  void expect(const Incoming& message) override { expected_.push_back(message); }
  Status finish() override {
    for (const Incoming& message : std::exchange(expected_, {})) {
      RZ_TRY(const size_t n_bytes, receive(message));
      REQUIRE(n_bytes == message.bytes.size());
    }
    return {};
  }
  Result<size_t> receive(const Incoming& message) override {
    std::unique_lock lock(hub_.mutex);
    auto& waiting = hub_.messages[{message.from, rank_}];
    hub_.changed.wait(lock, [&] { return !waiting.empty() || hub_.lost; });
    if (waiting.empty()) return lost_error();
    const std::vector<std::byte> bytes = std::move(waiting.front());
    waiting.pop_front();
    REQUIRE(bytes.size() <= message.bytes.size());
    if (!bytes.empty()) std::memcpy(message.bytes.data(), bytes.data(), bytes.size());
    return bytes.size();
  }
  bool is_lost() const override {
    const std::scoped_lock lock(hub_.mutex);
    return hub_.lost.has_value();
  }
  Error error() const override {
    const std::scoped_lock lock(hub_.mutex);
    return lost_error();
  }
  const ExchangeUse& use() const override { return use_; }

 private:
  Error lost_error() const { return {ErrorCode::kInternal, name_of(*hub_.lost) + " is gone", "ranks"}; }

  Hub& hub_;
  uint32_t rank_, n_ranks_;
  std::vector<Incoming> expected_;
  ExchangeUse use_;
};

ThreadExchanges::ThreadExchanges(uint32_t n_ranks) : hub_(std::make_unique<Hub>()) {
  for (uint32_t rank = 0; rank < n_ranks; ++rank) ranks_.push_back(std::make_unique<One>(*hub_, rank, n_ranks));
}
ThreadExchanges::~ThreadExchanges() = default;

Exchange& ThreadExchanges::of(uint32_t rank) {
  return *ranks_[rank];
}

void ThreadExchanges::lose(uint32_t rank) {
  {
    const std::scoped_lock lock(hub_->mutex);
    hub_->lost = rank;
  }
  hub_->changed.notify_all();
}

namespace {

class ThreadRanks final : public Backend {
 public:
  explicit ThreadRanks(uint32_t n_ranks) : exchanges_(n_ranks) {}
  // The others wait for the end of the first one.
  ~ThreadRanks() override {
    ranks_[0].reset();
    for (std::thread& follower : followers_) follower.join();
  }
  Status open(uint32_t n_ranks, const ranks::RankOptions& options, const MakeOwn& make_own) {
    ranks_.resize(n_ranks);
    for (uint32_t rank = 0; rank < n_ranks; ++rank) {
      RZ_TRY(auto own, make_own(&exchanges_.of(rank)));
      RZ_TRY(ranks_[rank], ranks::make_ranked_backend(std::move(own), exchanges_.of(rank), options));
    }
    return {};
  }

  Status configure(const BackendLimits& limits) override {
    return on_all([&](Backend& rank) { return rank.configure(limits); });
  }
  Status check(const Program& program) const override { return first().check(program); }
  Result<WeightId> load_matrix(const MatrixSource& source) override {
    return same_on_all([&](Backend& rank) { return rank.load_matrix(source); });
  }
  Result<WeightId> load_vector(std::span<const float> values, int32_t layer) override {
    return same_on_all([&](Backend& rank) { return rank.load_vector(values, layer); });
  }
  Status write_weights(WeightId id, size_t first_row, std::span<const float> values) override {
    return first().write_weights(id, first_row, values);
  }
  Status create_kv_cache(const CacheLayout& layout) override { return first().create_kv_cache(layout); }
  Result<ProgramId> compile(const Program& program) override {
    for (size_t rank = followers_.size() + 1; rank < ranks_.size(); ++rank) {
      followers_.emplace_back([&one = *ranks_[rank]] { REQUIRE(ranks::follow(one).ok()); });
    }
    return first().compile(program);
  }
  void run(ProgramId program, const StepBatch& batch) override { first().run(program, batch); }
  Status wait() override { return first().wait(); }
  std::span<const float> read(ActId act) const override { return first().read(act); }
  size_t block_bytes() const override { return first().block_bytes(); }
  void read_block(BlockId id, std::span<std::byte> bytes) const override { first().read_block(id, bytes); }
  void write_block(BlockId id, std::span<const std::byte> bytes) override { first().write_block(id, bytes); }
  void zero_block(BlockId id) override { first().zero_block(id); }
  void copy_block(BlockId from, BlockId to) override { first().copy_block(from, to); }
  void read_kv(uint32_t layer, BlockId id, std::span<float> keys, std::span<float> values) const override {
    first().read_kv(layer, id, keys, values);
  }
  size_t state_bytes() const override { return first().state_bytes(); }
  void read_state(StateId slot, std::span<std::byte> bytes) const override { first().read_state(slot, bytes); }
  void write_state(StateId slot, std::span<const std::byte> bytes) override { first().write_state(slot, bytes); }
  void zero_state(StateId slot) override { first().zero_state(slot); }
  BackendInfo info() const override { return first().info(); }
  bool is_lost() const override { return first().is_lost(); }
  void set_trace(bool on) override { first().set_trace(on); }
  std::span<const OpTiming> last_trace() const override { return first().last_trace(); }

 private:
  Backend& first() const { return *ranks_[0]; }
  template <class Call>
  Status on_all(const Call& call) {
    for (const auto& rank : ranks_) RZ_CHECK_OK(call(*rank));
    return {};
  }
  template <class Call>
  Result<WeightId> same_on_all(const Call& call) {
    RZ_TRY(const WeightId id, call(first()));
    for (size_t rank = 1; rank < ranks_.size(); ++rank) {
      RZ_TRY(const WeightId other, call(*ranks_[rank]));
      REQUIRE(other == id);
    }
    return id;
  }

  ThreadExchanges exchanges_;
  std::vector<std::unique_ptr<Backend>> ranks_;
  std::vector<std::thread> followers_;
};

}  // namespace

Result<std::unique_ptr<Backend>> make_thread_ranks(uint32_t n_ranks, const ranks::RankOptions& options,
                                                   const MakeOwn& make_own) {
  auto made = std::make_unique<ThreadRanks>(n_ranks);
  RZ_CHECK_OK(made->open(n_ranks, options, make_own));
  return std::unique_ptr<Backend>(std::move(made));
}

}  // namespace realizar::test
