// A model's logits on a backend.
#pragma once

#include <numeric>
#include <vector>

#include "backend/reference/reference_backend.h"
#include "base/result_checks.h"
#include "support/step_driver.h"

namespace realizar::test {

// [n_tokens, n_vocab], for a text of which `n_prompt` tokens are the prompt.
inline std::vector<float> logits_on(const ModelFile& file, std::unique_ptr<Backend> backend, size_t n_tokens,
                                    uint32_t n_prompt) {
  std::vector<int> ids(n_tokens);
  std::iota(ids.begin(), ids.end(), 5);
  return must(must(StepDriver::open(file, std::move(backend), 64))->run(ids, n_prompt, n_prompt));
}

inline std::vector<float> reference_logits(const ModelFile& file) {
  return logits_on(file, make_reference_backend(), 48, 40);
}

}  // namespace realizar::test
