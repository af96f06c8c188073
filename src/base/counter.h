// Counters with one writing thread and any number of readers.
#pragma once

#include <atomic>
#include <type_traits>

namespace realizar {

template <class T>
void add_to(std::atomic<T>& counter, std::type_identity_t<T> n) {
  counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

// Raises the counter to n if it is less.
template <class T>
void raise_to(std::atomic<T>& counter, std::type_identity_t<T> n) {
  if (counter.load(std::memory_order_relaxed) < n) counter.store(n, std::memory_order_relaxed);
}

}  // namespace realizar
