// Dispatch of an operation to the class that runs it.
#pragma once

#include <tuple>

namespace realizar {

template <class Runner, class... Args>
concept Runs = requires(Runner& runner, const Args&... args) {
  runner.run(args...);
};

// Calls run(op, args...) of the only one of `runners` that has it, checked at compile time.
template <class... Runners, class OneOp, class... Args>
void run_by_one_of(const std::tuple<Runners&...>& runners, const OneOp& op, const Args&... args) {
  static_assert((0 + ... + int{Runs<Runners, OneOp, Args...>}) == 1, "an operation has one runner");
  const auto offer = [&](auto& runner) {
    if constexpr (Runs<decltype(runner), OneOp, Args...>) runner.run(op, args...);
  };
  std::apply([&](auto&... all) { (offer(all), ...); }, runners);
}

}  // namespace realizar
