// The parts of a model's name on the hub, as llama.cpp's converter finds them: "Llama-3.2-1B-Instruct" is the base
// "Llama-3.2" in the size "1B", fine-tuned to "Instruct".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace realizar {

struct ModelName {
  std::string title;                                    // "Llama 3.2 1B Instruct"
  std::string organization;                             // what stands before a '/', in the same form
  std::string basename, finetune, version, size_label;  // "": the name tells none
  std::string repository;  // "organization/name" as it was given; "": it has no organization
};

// `n_weights` tells a size from a length of the context ("128k"). 0: unknown.
ModelName read_model_name(std::string_view id, uint64_t n_weights);

}  // namespace realizar
