// Short names of well-known models: the repositories that they mean, each with its quantization. Any other name refers
// to Ollama's registry.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "hub/name.h"

namespace realizar::hub {

struct ShortName {
  std::string_view model, tag;  // as known to Ollama's users
  std::string_view stands_for;
};
std::span<const ShortName> short_names();
// The rows of a model, in the table's order: deepseek-r1:1.5b, deepseek-r1:7b, ... Empty if the table does not have it.
std::vector<ModelName> short_names_of(const ModelName& name);

// The source for pulling a name of the store: the table's entry, else Ollama's model of that name. Names of other kinds
// are their own source.
ModelName source_of(const ModelName& name);

// Every name under which the model may be stored here, the likeliest first: the name itself, its source, Ollama's model
// of that name, and Hugging Face's if it has an owner.
std::vector<ModelName> meanings(const ModelName& name);

}  // namespace realizar::hub
