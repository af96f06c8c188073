// A resident team of threads that runs one job at a time: one wake-up a job, cheap barriers inside it. The calling
// thread is member 0. Waiting spins briefly, then yields (so more threads than cores still progress), then, between
// jobs only, sleeps on a futex. One thread at a time may call run. Where there are several memory nodes, each of the
// team's own threads stays on one.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace realizar {

class ThreadTeam {
 public:
  using Job = void (*)(void* context, uint32_t member);

  explicit ThreadTeam(uint32_t n_threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  uint32_t size() const { return n_threads_; }

  // Runs job(context, member) on every member; returns when all are done.
  void run(Job job, void* context);
  template <class Body>
  void run(Body& body) {
    run([](void* context, uint32_t member) { (*static_cast<Body*>(context))(member); }, &body);
  }

  // Inside a job, called by every member: none goes on before all have come.
  void barrier();

 private:
  void work(uint32_t member);

  uint32_t n_threads_;
  Job job_ = nullptr;
  void* context_ = nullptr;
  alignas(64) std::atomic<uint32_t> generation_{0};  // jobs started
  alignas(64) std::atomic<uint32_t> arrived_{0};
  alignas(64) std::atomic<uint32_t> phase_{0};  // barriers passed
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

}  // namespace realizar
