// The families whose folders tests/hf_families_test.cpp writes: a conformance model, and its config.json from
// transformers.
#pragma once

#include <ostream>
#include <span>

namespace realizar::test {

struct HfFamilyCase {
  const char* name;    // of the conformance model
  const char* config;  // its config.json
  // Before the name of each tensor, if a model also has parts for images; "": none.
  const char* prefix = "";
  float tolerance = 1e-4f;  // as a share of the logits' range
  bool has_stacks = false;  // of experts, if folders may also have them separately
};

inline void PrintTo(const HfFamilyCase& family, std::ostream* out) {
  *out << family.name;
}

std::span<const HfFamilyCase> hf_families();

}  // namespace realizar::test
