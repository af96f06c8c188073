// A test of the CUDA backend, once for each device that it can run on, and skipped where there is none.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "support/emulated_cuda.h"

namespace realizar::test {

class CudaTest : public testing::TestWithParam<CudaUnderTest> {
 protected:
  void SetUp() override {
    if (const auto device = GetParam().open(); !device.ok()) GTEST_SKIP() << device.error().message;
  }
};

inline std::string name_of(const testing::TestParamInfo<CudaUnderTest>& test) {
  return test.param.name;
}

}  // namespace realizar::test
