#include "backend/ranks/pace.h"

#include <thread>

namespace realizar::ranks {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

}  // namespace

microseconds Pace::sleep_after(Wait wait, std::chrono::steady_clock::duration waited) {
  if (waited < milliseconds(2)) return microseconds(0);
  if (waited < milliseconds(20)) return microseconds(50);
  if (wait == Wait::kForWork || waited < milliseconds(100)) return microseconds(200);
  return waited < std::chrono::seconds(1) ? milliseconds(1) : milliseconds(2);
}

void Pace::pause() {
  const microseconds sleep = sleep_after(wait_, std::chrono::steady_clock::now() - begin_);
  if (sleep > microseconds(0)) return std::this_thread::sleep_for(sleep);
  if (yields_) return std::this_thread::yield();
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace realizar::ranks
