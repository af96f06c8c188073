// The source of a server's model and its names. Independent of loaded models.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hub/name.h"
#include "realizar/adapter.h"
#include "realizar/options.h"

namespace realizar::server {

// The texts of a model from the store, besides those that loading it uses.
struct StoredTexts {
  std::string system, license;
  std::string messages;    // a conversation's beginning, a JSON list
  std::string parent;      // the model that it was made from or copied from
  std::string parameters;  // a JSON object

  bool operator==(const StoredTexts&) const = default;
};

struct ModelSource {
  std::string id;                                 // as clients name it
  std::string path;                               // .gguf, folder or .safetensors
  std::vector<std::string> aliases = {};          // further names
  BesideSettings beside = {};                     // the files next to its own
  std::vector<std::string> tags = {};             // shown to clients
  bool is_deletable = false;                      // clients may delete its files
  std::optional<hub::ModelName> store_name = {};  // its name in the store; nullopt: not from the store
  std::shared_ptr<const StoredTexts> texts = {};  // null: none
  std::vector<AdapterSource> adapters = {};       // loaded with it
  std::string default_adapter = {};               // for requests that name none; "": no adapter
};

// The name of a model with one of its adapters.
std::string adapted_name(const std::string& model, const std::string& adapter);
// Whether two names mean the same model: case is ignored, and Ollama's clients write NAME:latest for NAME.
bool is_same_name(std::string_view a, std::string_view b);
// Other ids that a name on the hub may be written as.
std::vector<std::string> hub_spellings(const std::string& id);

// Whether loading either gives the same model.
bool is_same_model(const ModelSource& a, const ModelSource& b);
// A model whose files in the store were replaced keeps the adapters given at the start, but not those from the store.
void keep_adapters_of_flags(const ModelSource& old, ModelSource& source);

// The size of a file, or of all weight files in a folder; 0 if it does not exist.
uint64_t bytes_on_disk(const std::string& path);
// The time of the last change; the epoch if it does not exist.
std::chrono::system_clock::time_point time_of(const std::string& path);

}  // namespace realizar::server
