#include "server/http/work_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <semaphore>

namespace realizar::server {
namespace {

constexpr size_t kLarge = WorkPool::kSmallBytes + 1;

// Work that runs until it is released.
class Blockers {
 public:
  ~Blockers() { release(); }
  Work of(const std::string& client, size_t n_bytes) {
    return {client, n_bytes, [this, go = go_] {
              started_.release();
              go.wait();
            }};
  }
  void wait_for(int n) {
    for (int i = 0; i < n; ++i) started_.acquire();
  }
  bool has_started_another() { return started_.try_acquire(); }
  void release() {
    if (!std::exchange(released_, true)) promise_.set_value();
  }

 private:
  std::promise<void> promise_;
  std::shared_future<void> go_ = promise_.get_future().share();
  std::counting_semaphore<> started_{0};
  bool released_ = false;
};

// Returns when the pool has done the work.
void run_one(WorkPool& pool, const std::string& client, size_t n_bytes) {
  std::promise<void> done;
  pool.submit({client, n_bytes, [&] { done.set_value(); }});
  done.get_future().wait();
}

TEST(WorkPool, SmallWorkNeverWaitsForLarge) {
  Blockers blockers;
  WorkPool pool(2, 2);
  for (int i = 0; i < 20; ++i) pool.submit(blockers.of("a" + std::to_string(i), kLarge));
  blockers.wait_for(2);
  run_one(pool, "b", 10);
  run_one(pool, "a1", 10);
  blockers.release();
}

TEST(WorkPool, NoClientHoldsAllThreads) {
  for (const size_t n_bytes : {size_t{10}, kLarge}) {
    Blockers blockers;
    WorkPool pool(4, 4);
    for (int i = 0; i < 20; ++i) pool.submit(blockers.of("a", n_bytes));
    blockers.wait_for(2);
    run_one(pool, "b", n_bytes);
    EXPECT_FALSE(blockers.has_started_another());
    blockers.release();
  }
}

TEST(WorkPool, ClientsTakeTurns) {
  std::vector<std::string> order;
  {
    Blockers blockers;
    WorkPool pool(1, 1);
    pool.submit(blockers.of("x", 10));
    blockers.wait_for(1);
    for (const char* client : {"a", "a", "a", "a", "b", "c", "b"}) {
      pool.submit({client, 10, [&order, client] { order.emplace_back(client); }});
    }
    blockers.release();
    run_one(pool, "z", 10);
    run_one(pool, "a", 10);
  }
  EXPECT_EQ(order, (std::vector<std::string>{"a", "b", "c", "a", "b", "a", "a"}));
}

TEST(WorkPool, AClientGetsItsThreadsBack) {
  WorkPool pool(2, 2);
  std::atomic<int> n_done = 0;
  std::promise<void> all;
  for (int i = 0; i < 1000; ++i) {
    pool.submit({i % 3 == 0 ? "a" : "b", i % 2 == 0 ? 10 : kLarge, [&] {
                   if (++n_done == 1000) all.set_value();
                 }});
  }
  all.get_future().wait();
  EXPECT_EQ(n_done, 1000);
}

TEST(WorkPool, DropsWhatWaitsWhenItIsStopped) {
  const auto held = std::make_shared<int>(0);
  std::atomic<int> n_done = 0;
  Blockers blockers;
  WorkPool pool(1, 1);
  pool.submit(blockers.of("a", 10));
  blockers.wait_for(1);
  for (int i = 0; i < 10; ++i) pool.submit({"a", 10, [&n_done, held] { ++n_done; }});
  std::thread stopper([&] { pool.stop(); });
  blockers.release();
  stopper.join();
  EXPECT_LE(n_done, 10);
  EXPECT_EQ(held.use_count(), 1);
  pool.submit({"a", 10, [&] { n_done = 100; }});
  EXPECT_NE(n_done, 100);
}

}  // namespace
}  // namespace realizar::server
