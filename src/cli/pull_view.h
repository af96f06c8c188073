// Shows a download: on a terminal, one line that is redrawn with the share, the rate and the time left. If standard
// error is not a terminal, one line at the start of each file.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <string>

#include "hub/pull.h"
#include "realizar/result.h"

namespace realizar::cli {

class PullView {
 public:
  using Clock = std::chrono::steady_clock;

  PullView();
  ~PullView();
  PullView(const PullView&) = delete;
  PullView& operator=(const PullView&) = delete;
  void update(const hub::PullProgress& progress);
  // Erases the line.
  void clear();

 private:
  struct Sample {
    Clock::time_point time;
    uint64_t n_done;
  };
  double bytes_per_second(uint64_t n_done, Clock::time_point now);

  bool is_terminal_, is_drawn_ = false;
  Clock::time_point next_;
  std::deque<Sample> samples_;
  std::string file_;
  bool has_waited_ = false;
};

// "0:07", "12:40", "3:05:00".
std::string time_text(double seconds);
// "m.gguf  42 %  460 MB of 1.10 GB  23 MB/s  0:28 left"
std::string progress_text(const hub::PullProgress& progress, double bytes_per_second);

// Downloads a model; Ctrl-C ends the download and not the process. Reports at once which server is contacted and each
// retry, and then the progress. Errors: those of
// hub::pull and look_up; Cancelled, also if `agrees`, which gets the model's size in bytes, returns false.
Result<hub::StoredModel> pull_shown(const hub::ModelName& name, const hub::Store& store,
                                    const hub::HubSettings& settings,
                                    const std::function<bool(uint64_t n_bytes)>& agrees = {});

}  // namespace realizar::cli
