// The reference backend's logits for a file and a text of 48 tokens, of which 40 are the prompt.
#pragma once

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "backend/reference/reference_backend.h"
#include "support/step_driver.h"

namespace realizar::test {

// [48, n_vocab]. Empty, with a failed expectation, if the file cannot be loaded.
inline std::vector<float> reference_logits(const ModelFile& file) {
  auto driver = StepDriver::open(file, make_reference_backend(), 64);
  EXPECT_TRUE(driver.ok()) << driver.error().message;
  if (!driver.ok()) return {};
  std::vector<int> ids(48);
  std::iota(ids.begin(), ids.end(), 5);
  return *(*driver)->run(ids, 40, 40);
}

}  // namespace realizar::test
