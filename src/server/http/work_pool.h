// The threads for work that would block the I/O thread: parsing, templates, tokenizing, grammars. Clients share them
// fairly: they take turns, and none can occupy all threads. Work on small and on large bodies has separate threads, so
// that a small request never waits for a large one; threads for large bodies run at low priority.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace realizar::server {

struct Work {
  std::string client;          // for taking turns
  size_t n_bytes = 0;          // of the body to work on
  std::function<void()> task;  // must not throw
};

class WorkPool {
 public:
  // Larger bodies are large.
  static constexpr size_t kSmallBytes = 64u << 10;

  // Throws std::system_error if the system cannot start threads.
  WorkPool(uint32_t n_small_threads, uint32_t n_large_threads);
  ~WorkPool() { stop(); }

  // Any thread. After stop() work is dropped.
  void submit(Work work);
  // Waits for running work, and drops queued work.
  void stop();

 private:
  // Threads of one kind, and the work that waits for them.
  struct Lane {
    uint32_t n_threads = 0;
    struct Client {
      std::deque<Work> waiting;
      uint32_t n_running = 0;
    };
    std::map<std::string, Client> clients;  // those with any work
    std::deque<std::string> turns;          // clients with queued work, the next one first
    std::condition_variable has_work;
  };

  void start();
  void run(Lane& lane);
  // The next work whose client may use another thread; false if there is none.
  static bool take(Lane& lane, Work& work);

  std::mutex mutex_;
  Lane small_, large_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace realizar::server
