// Adapters of low rank (LoRA): small files that change what a model answers, loaded beside it. Requests choose one by
// name.
#pragma once

#include <cstdint>
#include <string>

namespace realizar {

struct AdapterSource {
  std::string name;    // that requests choose it by
  std::string path;    // a GGUF file, or a folder of PEFT with adapter_config.json
  float scale = 1.0f;  // on what it adds, where a request says no other
};

// An adapter that is loaded.
struct AdapterInfo {
  std::string name, path;
  float scale = 1.0f;
  uint32_t rank = 0;           // the largest of its matrices
  bool is_default = false;     // of requests that name none
  float default_scale = 0.0f;  // of those
};

}  // namespace realizar
