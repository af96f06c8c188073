// Waiting between polls of MPI: without pause at first, then with growing sleeps.
#pragma once

#include <chrono>

namespace realizar::ranks {

class Pace {
 public:
  enum class Wait {
    kForWork,   // another rank is computing
    kForHours,  // for the next request
  };
  // yields: there are fewer cores than ranks waiting on them.
  Pace(Wait wait, bool yields) : wait_(wait), yields_(yields), begin_(std::chrono::steady_clock::now()) {}

  void pause();

  // The sleep after this time of waiting; 0: none.
  static std::chrono::microseconds sleep_after(Wait wait, std::chrono::steady_clock::duration waited);

 private:
  Wait wait_;
  bool yields_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace realizar::ranks
