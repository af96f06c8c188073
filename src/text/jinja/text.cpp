#include "text/jinja/text.h"

#include <algorithm>

#include "text/jinja/value.h"

namespace realizar::text::jinja {
namespace {

thread_local Work* current_work = nullptr;

}  // namespace

Work::Work(uint64_t max_ticks)
    : n_left_(current_work == nullptr ? max_ticks : std::min(max_ticks, current_work->n_left_)), outer_(current_work) {
  current_work = this;
}

Work::~Work() {
  current_work = outer_;
}

void count_work(size_t n_ticks) {
  if (current_work == nullptr) return;
  if (n_ticks > current_work->n_left_) throw TemplateError{"the template does too much work", true};
  current_work->n_left_ -= n_ticks;
}

void count_steps(size_t n_steps) {
  count_work(std::min(n_steps, kMaxSteps + 1) * kTicksAStep);
}

}  // namespace realizar::text::jinja
