// CUDA leaves the order of a block's threads undefined, so no result may depend on it.
#pragma once

#include <gtest/gtest.h>

#include "support/cuda_emulator.h"

namespace realizar::test {

// Checks that compute() gives the same in every order of the emulator.
template <class Compute>
void expect_same_in_all_orders(const Compute& compute) {
  using cuda::emulator::ThreadOrder;
  cuda::emulator::set_thread_order(ThreadOrder::kRising);
  const auto rising = compute();
  for (const ThreadOrder order : {ThreadOrder::kFalling, ThreadOrder::kShuffled}) {
    cuda::emulator::set_thread_order(order);
    EXPECT_EQ(rising, compute());
  }
  cuda::emulator::set_thread_order(ThreadOrder::kRising);
}

}  // namespace realizar::test
