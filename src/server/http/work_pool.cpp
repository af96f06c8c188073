#include "server/http/work_pool.h"

#include <sys/resource.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/caught.h"
#include "server/http/process.h"

namespace realizar::server {
namespace {

// The priority of threads for large bodies: on a busy machine they get a tenth of the others' time.
constexpr int kLargeNice = 10;
// The memory of such a body is in small blocks when it is done with.
constexpr size_t kMemoryBytes = 1u << 20;

}  // namespace

WorkPool::WorkPool(uint32_t n_small_threads, uint32_t n_large_threads) {
  small_.n_threads = n_small_threads;
  large_.n_threads = n_large_threads;
  try {
    start();
  } catch (...) {  // threads that were started must end
    stop();
    throw;
  }
}

void WorkPool::start() {
  threads_.reserve(small_.n_threads + large_.n_threads);
  for (uint32_t i = 0; i < small_.n_threads; ++i) threads_.emplace_back([this] { run(small_); });
  for (uint32_t i = 0; i < large_.n_threads; ++i) {
    threads_.emplace_back([this] {
      // Only for this thread, on Linux.
      static_cast<void>(setpriority(PRIO_PROCESS, 0, kLargeNice));
      run(large_);
    });
  }
}

void WorkPool::submit(Work work) {
  Lane& lane = work.n_bytes > kSmallBytes ? large_ : small_;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    Lane::Client& client = lane.clients[work.client];
    // If this throws, the lane is unchanged.
    std::string turn = work.client;
    client.waiting.push_back(std::move(work));
    if (client.waiting.size() == 1) {
      const Status joined = caught([&] { lane.turns.push_back(std::move(turn)); });
      if (!joined.ok()) {
        client.waiting.pop_back();
        throw std::bad_alloc();
      }
    }
  }
  lane.has_work.notify_one();
}

bool WorkPool::take(Lane& lane, Work& work) {
  const uint32_t most = std::max(1u, lane.n_threads / 2);
  const auto turn = std::find_if(lane.turns.begin(), lane.turns.end(),
                                 [&](const std::string& client) { return lane.clients.at(client).n_running < most; });
  if (turn == lane.turns.end()) return false;
  Lane::Client& client = lane.clients.at(*turn);
  work = std::move(client.waiting.front());
  client.waiting.pop_front();
  ++client.n_running;
  // Without a copy of the name: nothing may throw on these threads.
  if (client.waiting.empty()) {
    lane.turns.erase(turn);
  } else {
    std::rotate(turn, turn + 1, lane.turns.end());
  }
  return true;
}

void WorkPool::run(Lane& lane) {
  std::unique_lock lock(mutex_);
  while (true) {
    Work work;
    lane.has_work.wait(lock, [&] { return stopping_ || take(lane, work); });
    if (!work.task) return;
    lock.unlock();
    work.task();
    work.task = nullptr;
    if (work.n_bytes >= kMemoryBytes) give_memory_back();
    lock.lock();
    const auto client = lane.clients.find(work.client);
    if (--client->second.n_running == 0 && client->second.waiting.empty()) lane.clients.erase(client);
    // The client may use a thread again, and a sleeping thread can take its work.
    lane.has_work.notify_one();
  }
}

void WorkPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  small_.has_work.notify_all();
  large_.has_work.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  // Tasks may hold objects that other members serve, so they are destroyed here.
  small_.clients.clear();
  large_.clients.clear();
}

}  // namespace realizar::server
