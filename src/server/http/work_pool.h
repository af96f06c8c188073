// The threads that do what would hold the I/O thread up: parsing, templates, tokenizing, grammars. Clients share them
// fairly: they take turns, and none holds all threads. Work on small and on large bodies has threads of its own each,
// so that a small request never waits for a large one; those for large bodies leave the processor to everything else.
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
  std::string client;          // whose turn it takes
  size_t n_bytes = 0;          // of the body that it is about
  std::function<void()> task;  // throws nothing
};

class WorkPool {
 public:
  // Bodies above this are large.
  static constexpr size_t kSmallBytes = 64u << 10;

  // Throws std::system_error where the system gives no threads.
  WorkPool(uint32_t n_small_threads, uint32_t n_large_threads);
  ~WorkPool() { stop(); }

  // Any thread. After stop() the work is dropped.
  void submit(Work work);
  // Waits for what runs, and drops what waits.
  void stop();

 private:
  // Threads of one kind, and what waits for them.
  struct Lane {
    uint32_t n_threads = 0;
    struct Client {
      std::deque<Work> waiting;
      uint32_t n_running = 0;
    };
    std::map<std::string, Client> clients;  // those with any work
    std::deque<std::string> turns;          // the clients with work that waits, the next one first
    std::condition_variable has_work;
  };

  void start();
  void run(Lane& lane);
  // The next work whose client has a thread left; nothing where there is none.
  static bool take(Lane& lane, Work& work);

  std::mutex mutex_;
  Lane small_, large_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace realizar::server
