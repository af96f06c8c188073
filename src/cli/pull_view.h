// A download as a terminal shows it: one line that is drawn again, with the share that is there, the rate and the time
// that is left. Where standard error is no terminal, a line when a file begins.
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
  // Takes the line away.
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

// Downloads a model while Ctrl-C ends the download and not the process. Says at once which server is asked for it, when
// it is asked again, and then how far the download is. Errors: those of
// hub::pull and look_up; Cancelled, also where `agrees`, which is told how many bytes the model has, says no.
Result<hub::StoredModel> pull_shown(const hub::ModelName& name, const hub::Store& store,
                                    const hub::HubSettings& settings,
                                    const std::function<bool(uint64_t n_bytes)>& agrees = {});

}  // namespace realizar::cli
