// The cost of a template's run so far: every comparison, every byte that is copied or searched. Code counts its work
// before doing it; the run on this thread ends with TemplateError once it exceeds what any honest template needs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace realizar::text::jinja {

// The account of one run, active on this thread while it exists; runs may nest, and an inner one is limited to the rest
// of the outer one.
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

inline constexpr size_t kMaxSteps = 4'000'000;  // expressions, statements and items in a run
inline constexpr size_t kTicksAStep = 64;

// A tick is about one copied byte; throws if the account is exhausted. Outside of runs nothing is counted.
void count_work(size_t n_ticks);
void count_steps(size_t n_steps);

}  // namespace realizar::text::jinja
