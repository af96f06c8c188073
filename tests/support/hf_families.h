// The families that tests/hf_families_test.cpp writes folders of: a conformance model, and the config.json that
// transformers gives it.
#pragma once

#include <ostream>
#include <span>

namespace realizar::test {

struct HfFamilyCase {
  const char* name;    // of the conformance model
  const char* config;  // its config.json
  // Before the name of each tensor, where a model has parts for images too; "": none.
  const char* prefix = "";
  float tolerance = 1e-4f;  // of the range of the logits
  bool has_stacks = false;  // of experts, where folders may have each apart
};

inline void PrintTo(const HfFamilyCase& family, std::ostream* out) {
  *out << family.name;
}

std::span<const HfFamilyCase> hf_families();

}  // namespace realizar::test
