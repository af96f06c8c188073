// Short names of well-known models: what they stand for, each with its quantization. Every name that is not here is one
// of Ollama's registry.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "hub/name.h"

namespace realizar::hub {

struct ShortName {
  std::string_view model, tag;  // as Ollama's users know it
  std::string_view stands_for;
};
std::span<const ShortName> short_names();
// The rows of a model, in the table's order: deepseek-r1:1.5b, deepseek-r1:7b, ... None: the table does not have it.
std::vector<ModelName> short_names_of(const ModelName& name);

// What a name of the store's own is pulled from: what the table says, else Ollama's model of that name. A name of
// another kind is itself.
ModelName source_of(const ModelName& name);

// Every name under which the model that is meant may be there, the likeliest first: the name itself, what it is pulled
// from, Ollama's of that name, and Hugging Face's where it has an owner.
std::vector<ModelName> meanings(const ModelName& name);

}  // namespace realizar::hub
