// Parameters of the operation suite and the names of its cases, such as "cpu_avx2_Q4_K".
#pragma once

#include <string>
#include <vector>

#include "quant/types.h"
#include "support/backends_under_test.h"

namespace realizar::test {

inline std::vector<TypeId> weight_types() {
  std::vector<TypeId> types;
  for (const TypeTraits& type : all_types()) types.push_back(type.id);
  return types;
}

inline std::string suite_name(const BackendUnderTest& backend, TypeId type) {
  return std::string(backend.name) + "_" + std::string(traits(type).name);
}

}  // namespace realizar::test
