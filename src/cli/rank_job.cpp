#include "cli/rank_job.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "api/ranks.h"
#include "base/try.h"
#include "cli/command.h"
#include "cli/output.h"

namespace realizar::cli {
namespace {

// The time for a command to answer its clients after a rank is lost; then the process ends, whatever hangs.
constexpr auto kLastWords = std::chrono::milliseconds(2500);

std::atomic<RankJob*> current_job = nullptr;
std::atomic<bool> is_stopping = false, is_serving = false;

// A server reports it at once, answers open requests with an error and ends, as when it is stopped; other commands fail
// with the error.
void end_after_loss(const Error& error) {
  if (is_serving) warn(error.message);
  if (is_serving && !is_stopping.exchange(true)) ::kill(::getpid(), SIGTERM);
  std::thread([message = error.message] {
    std::this_thread::sleep_for(kLastWords);
    if (!is_serving) warn(message);
    ::_exit(kFailure);
  }).detach();
}

}  // namespace

Result<std::unique_ptr<RankJob>> RankJob::join(MpiChoice choice) {
  if (choice == MpiChoice::kNever) return std::unique_ptr<RankJob>();
  const auto variable = [](const char* name) { return std::getenv(name); };
  if (choice == MpiChoice::kAuto && ranks::launch_of(variable).n_ranks == 1) return std::unique_ptr<RankJob>();
  RZ_TRY(auto exchange, ranks::open_mpi());
  if (exchange->n_ranks() == 1) return std::unique_ptr<RankJob>();
  treat_terminals_as_pipes();  // mpirun gives each process its own terminal
  return std::unique_ptr<RankJob>(new RankJob(std::move(exchange)));
}

RankJob::RankJob(std::unique_ptr<ranks::MpiExchange> exchange) : exchange_(std::move(exchange)), ranks_(*exchange_) {
  current_job = this;
  if (!is_follower()) exchange_->on_lost(end_after_loss);
}

RankJob::~RankJob() {
  current_job = nullptr;
  if (!is_follower() && !exchange_->is_lost()) ranks_.end();
}

// mpirun sends its signals to all ranks: the first one decides when the job ends.
int RankJob::follow() {
  for (const int signal : {SIGINT, SIGHUP}) std::signal(signal, SIG_IGN);
  std::signal(SIGTERM, [](int) { note_stop(); });
  const Status status = ranks_.follow(make_rank_backend);
  if (status.ok()) return kOk;
  // The first rank reports the loss of others; its own loss is reported by one of them.
  if (exchange_->rank() == 1 || !exchange_->is_lost()) warn(status.error().message);
  return finish(kFailure);
}

int RankJob::finish(int code) const {
  if (!exchange_->is_lost()) return code;
  std::fflush(nullptr);
  ::_exit(kFailure);  // MPI can no longer be finalized
}

Ranks* RankJob::ranks() {
  RankJob* job = current_job;
  return job == nullptr || job->is_follower() ? nullptr : &job->ranks_;
}

Ranks* RankJob::ranks_to_serve_with() {
  is_serving = true;
  return ranks();
}

void RankJob::note_stop() {
  is_stopping = true;
  if (RankJob* job = current_job; job != nullptr) job->exchange_->set_ending();
}

}  // namespace realizar::cli
