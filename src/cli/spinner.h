// A sign of activity on standard error, if that is a terminal, while there is nothing else to show, e.g. while a long
// prompt is read.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace realizar::cli {

class Spinner {
 public:
  // Shows `what` and the elapsed seconds, after a noticeable time. `shown` false: never.
  Spinner(std::string what, bool shown);
  Spinner(const Spinner&) = delete;
  Spinner& operator=(const Spinner&) = delete;
  ~Spinner() { stop(); }

  // Erases it; nothing is drawn after this has returned.
  void stop();

 private:
  void draw();

  std::string what_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace realizar::cli
