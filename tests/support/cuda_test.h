// A test of the CUDA backend, once for each device that it can run on; skipped without one.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "support/emulated_cuda.h"

namespace realizar::test {

class CudaTest : public testing::TestWithParam<CudaUnderTest> {
 protected:
  void SetUp() override {
    if (const auto device = GetParam().open(); !device.ok()) GTEST_SKIP() << device.error().message;
  }
  std::unique_ptr<Backend> backend() const { return std::move(*make_cuda_on(GetParam().open, 1, {})); }
};

// A test once for each device and each value of another parameter.
template <class Value>
class CudaTestOf : public testing::TestWithParam<std::tuple<CudaUnderTest, Value>> {
 protected:
  void SetUp() override {
    if (const auto device = cuda().open(); !device.ok()) GTEST_SKIP() << device.error().message;
  }
  const CudaUnderTest& cuda() const { return std::get<0>(this->GetParam()); }
  const Value& value() const { return std::get<1>(this->GetParam()); }
  std::unique_ptr<Backend> backend() const { return std::move(*make_cuda_on(cuda().open, 1, {})); }
};

inline std::string name_of(const testing::TestParamInfo<CudaUnderTest>& test) {
  return test.param.name;
}

}  // namespace realizar::test
