// How a thread waits between looks at what MPI has done: at once at first, then with sleeps that grow.
#pragma once

#include <chrono>

namespace realizar::ranks {

class Pace {
 public:
  enum class Wait {
    kForWork,   // another rank computes meanwhile
    kForHours,  // until someone asks for something
  };
  // yields: the cores are fewer than the ranks that wait on them.
  Pace(Wait wait, bool yields) : wait_(wait), yields_(yields), begin_(std::chrono::steady_clock::now()) {}

  void pause();

  // The sleep after that much waiting; 0: none.
  static std::chrono::microseconds sleep_after(Wait wait, std::chrono::steady_clock::duration waited);

 private:
  Wait wait_;
  bool yields_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace realizar::ranks
