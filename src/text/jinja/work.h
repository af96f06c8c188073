// What a run of a template has cost so far: every comparison, every byte that is copied or searched. Whoever does the
// work counts it before it is done, wherever it happens; the run on this thread ends with TemplateError once it has
// done more than any honest template does.
#pragma once

#include <cstddef>
#include <cstdint>

namespace realizar::text::jinja {

// The account of one run. While it lives, it is this thread's; runs may nest, and an inner one has no more than what is
// left of the outer one.
class Work {
 public:
  explicit Work(uint64_t max_ticks);
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  ~Work();

 private:
  friend void count_work(size_t n_ticks);
  uint64_t n_left_;
  Work* outer_;
};

inline constexpr size_t kMaxSteps = 4'000'000;  // expressions, statements and items of a run
inline constexpr size_t kTicksAStep = 64;

// A tick is a byte that is copied, about; throws beyond the account. Outside of runs nothing is counted.
void count_work(size_t n_ticks);
void count_steps(size_t n_steps);

}  // namespace realizar::text::jinja
