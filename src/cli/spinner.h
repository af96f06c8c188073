// A sign of life on a terminal's standard error while nothing else can be shown, e.g. while a long prompt is read.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace realizar::cli {

class Spinner {
 public:
  // Shows `what` and the seconds gone by, once it has taken long enough to be noticed. `shown` false: never.
  Spinner(std::string what, bool shown);
  Spinner(const Spinner&) = delete;
  Spinner& operator=(const Spinner&) = delete;
  ~Spinner() { stop(); }

  // Wipes it away; nothing is drawn once this has returned.
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
