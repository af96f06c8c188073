// Low-rank adapters (LoRA): small files that change a model's answers, loaded along with it. Requests choose one by
// name.
#pragma once

#include <cstdint>
#include <string>

namespace realizar {

struct AdapterSource {
  std::string name;    // the name by which requests choose it
  std::string path;    // a GGUF file, or a PEFT folder with adapter_config.json
  float scale = 1.0f;  // factor for requests that set none

  bool operator==(const AdapterSource&) const = default;
};

// A loaded adapter.
struct AdapterInfo {
  std::string name, path;
  float scale = 1.0f;
  uint32_t rank = 0;           // the largest rank of its matrices
  bool is_default = false;     // used for requests that name no adapter
  float default_scale = 0.0f;  // factor for those requests
};

}  // namespace realizar
