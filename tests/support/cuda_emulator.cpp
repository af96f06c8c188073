#include "support/cuda_emulator.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <vector>

#include "support/fiber.h"

namespace realizar::cuda::emulator {
namespace {

constexpr uint32_t kWarpLanes = 32;
constexpr size_t kMaxExchangeBytes = 32;

enum class State : uint8_t { kReady, kAtBarrier, kInExchange, kDone };

[[noreturn]] void fail(const char* message) {
  std::fprintf(stderr, "emulated CUDA: %s\n", message);
  std::abort();
}

struct Copy {
  void* to;
  const void* from;
  size_t n_bytes;
};

struct Thread {
  ThreadPlace place;
  // Groups of pending copies; the last is open.
  std::deque<std::vector<Copy>> copies;
  State state = State::kReady;
  std::unique_ptr<test::Fiber> fiber;
};

struct Warp {
  // Two, since slower lanes read one while others write the next.
  std::byte values[2][kWarpLanes * kMaxExchangeBytes];
  uint32_t n_exchanges = 0, n_arrived = 0;
  size_t n_bytes = 0;
};

class Block {
 public:
  void run(const ThreadPlace& first, const std::function<void()>& body, ThreadOrder order);

  const ThreadPlace& here() const { return current_->place; }
  void* shared(const void* tag, size_t n_bytes);
  void wait_for_block();
  const std::byte* exchange(const void* value, size_t n_bytes);
  void copy_async(const Copy& copy) { current_->copies.back().push_back(copy); }
  void commit_copies() { current_->copies.emplace_back(); }
  void wait_for_copies(uint32_t n_groups);

 private:
  void give_way() { current_->fiber->suspend(); }
  std::vector<uint32_t> turns(ThreadOrder order) const;
  void finish(Thread& thread);
  bool all_wait_at_barrier() const { return n_at_barrier_ > 0 && n_at_barrier_ == n_running_; }
  void open_barrier();

  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  std::map<const void*, std::unique_ptr<std::byte[]>> shared_;
  Thread* current_ = nullptr;
  uint32_t n_threads_ = 0, n_running_ = 0, n_at_barrier_ = 0;
};

void Block::run(const ThreadPlace& first, const std::function<void()>& body, ThreadOrder order) {
  if (first.n_threads % kWarpLanes != 0) fail("a block is made of whole warps");
  n_threads_ = n_running_ = first.n_threads;
  n_at_barrier_ = 0;
  shared_.clear();
  if (threads_.size() < n_threads_) threads_.resize(n_threads_);
  warps_.assign(n_threads_ / kWarpLanes, {});
  for (uint32_t t = 0; t < n_threads_; ++t) {
    Thread& thread = threads_[t];
    thread.place = first;
    thread.place.thread = t;
    thread.state = State::kReady;
    thread.copies.assign(1, {});
    if (thread.fiber == nullptr) thread.fiber = std::make_unique<test::Fiber>();
    thread.fiber->start(body);
  }
  const auto in_turn = turns(order);
  while (n_running_ > 0) {
    bool any_ran = false;
    for (const uint32_t t : in_turn) {
      Thread& thread = threads_[t];
      if (thread.state != State::kReady) continue;
      any_ran = true;
      current_ = &thread;
      if (thread.fiber->resume()) finish(thread);
    }
    if (!any_ran)
      fail("threads wait for others that never come: at different barriers, or some lanes of a warp exchange");
  }
}

std::vector<uint32_t> Block::turns(ThreadOrder order) const {
  std::vector<uint32_t> in_turn(n_threads_);
  for (uint32_t t = 0; t < n_threads_; ++t) in_turn[t] = order == ThreadOrder::kFalling ? n_threads_ - 1 - t : t;
  if (order == ThreadOrder::kShuffled) std::shuffle(in_turn.begin(), in_turn.end(), std::minstd_rand(7));
  return in_turn;
}

// A thread that has ended counts as arrived at all barriers.
void Block::finish(Thread& thread) {
  thread.state = State::kDone;
  --n_running_;
  if (all_wait_at_barrier()) open_barrier();
}

void Block::open_barrier() {
  n_at_barrier_ = 0;
  for (uint32_t t = 0; t < n_threads_; ++t) {
    if (threads_[t].state == State::kAtBarrier) threads_[t].state = State::kReady;
  }
}

void* Block::shared(const void* tag, size_t n_bytes) {
  auto& bytes = shared_[tag];
  if (bytes == nullptr) {
    bytes.reset(new std::byte[n_bytes]);
    std::fill_n(bytes.get(), n_bytes, std::byte{0xff});
  }
  return bytes.get();
}

void Block::wait_for_block() {
  current_->state = State::kAtBarrier;
  ++n_at_barrier_;
  if (all_wait_at_barrier()) open_barrier();
  give_way();
}

const std::byte* Block::exchange(const void* value, size_t n_bytes) {
  const uint32_t lane = current_->place.thread % kWarpLanes, first = current_->place.thread - lane;
  Warp& warp = warps_[first / kWarpLanes];
  if (n_bytes > kMaxExchangeBytes) fail("an exchange of so many bytes is not foreseen");
  if (warp.n_arrived > 0 && warp.n_bytes != n_bytes) fail("lanes of a warp are at different exchanges");
  std::byte* values = warp.values[warp.n_exchanges % 2];
  std::memcpy(values + lane * n_bytes, value, n_bytes);
  warp.n_bytes = n_bytes;
  if (++warp.n_arrived < kWarpLanes) {
    current_->state = State::kInExchange;
    give_way();
    return values;
  }
  warp.n_arrived = 0;
  ++warp.n_exchanges;
  for (uint32_t t = first; t < first + kWarpLanes; ++t) threads_[t].state = State::kReady;
  return values;
}

void Block::wait_for_copies(uint32_t n_groups) {
  auto& copies = current_->copies;
  while (copies.size() > n_groups + 1) {
    for (const Copy& copy : copies.front()) std::memcpy(copy.to, copy.from, copy.n_bytes);
    copies.pop_front();
  }
}

// Several devices may compute at a time, each on its own thread.
Block& block() {
  static thread_local Block block;
  return block;
}
ThreadOrder thread_order = ThreadOrder::kRising;

std::mutex loaded_mutex;
std::set<const void*> loaded_kernels;

}  // namespace

void note_loaded(const void* kernel) {
  const std::lock_guard lock(loaded_mutex);
  loaded_kernels.insert(kernel);
}

bool is_loaded(const void* kernel) {
  const std::lock_guard lock(loaded_mutex);
  return loaded_kernels.contains(kernel);
}

void run(Grid grid, uint32_t n_threads, const std::function<void()>& body) {
  for (uint32_t y = 0; y < grid.y; ++y) {
    for (uint32_t x = 0; x < grid.x; ++x) block().run({0, x, y, n_threads}, body, thread_order);
  }
}

void set_thread_order(ThreadOrder order) {
  thread_order = order;
}
const ThreadPlace& here() {
  return block().here();
}
void* shared(const void* tag, size_t n_bytes) {
  return block().shared(tag, n_bytes);
}
void wait_for_block() {
  block().wait_for_block();
}
void copy_async(void* to, const void* from, size_t n_bytes) {
  if (thread_order == ThreadOrder::kFalling) {
    std::memcpy(to, from, n_bytes);
  } else {
    block().copy_async({to, from, n_bytes});
  }
}
void commit_copies() {
  block().commit_copies();
}
void wait_for_copies(uint32_t n_groups) {
  block().wait_for_copies(n_groups);
}
const std::byte* exchange(const void* value, size_t n_bytes) {
  return block().exchange(value, n_bytes);
}

}  // namespace realizar::cuda::emulator
