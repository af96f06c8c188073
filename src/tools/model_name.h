// Splits a model's name on the hub like llama.cpp's converter: "Llama-3.2-1B-Instruct" is the base "Llama-3.2" of size
// "1B", fine-tuned to "Instruct".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace realizar {

struct ModelName {
  std::string title;                                    // "Llama 3.2 1B Instruct"
  std::string organization;                             // the part before a '/', in the same form
  std::string basename, finetune, version, size_label;  // "": not in the name
  std::string repository;                               // "organization/name" as given; "": no organization
};

// `n_weights` distinguishes a size from a context length ("128k"). 0: unknown.
ModelName read_model_name(std::string_view id, uint64_t n_weights);

}  // namespace realizar
