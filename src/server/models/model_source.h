// Where a server's model comes from, and what it is called. Knows no loaded model.
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

// The texts that a model of the store has, besides those that loading it takes.
struct StoredTexts {
  std::string system, license;
  std::string messages;    // a conversation's beginning, a JSON list
  std::string parent;      // the model that it was made of or copied from
  std::string parameters;  // a JSON object

  bool operator==(const StoredTexts&) const = default;
};

struct ModelSource {
  std::string id;                                 // as clients name it
  std::string path;                               // .gguf, folder or .safetensors
  std::vector<std::string> aliases = {};          // further names
  BesideSettings beside = {};                     // what lies beside its file
  std::vector<std::string> tags = {};             // what clients are told of it
  bool is_deletable = false;                      // clients may delete its files
  std::optional<hub::ModelName> store_name = {};  // under which the store has it; nullopt: it is not of the store
  std::shared_ptr<const StoredTexts> texts = {};  // null: there are none
  std::vector<AdapterSource> adapters = {};       // loaded with it
  std::string default_adapter = {};               // of requests that name none; "": they have none
};

// How clients name a model with one of its adapters.
std::string adapted_name(const std::string& model, const std::string& adapter);
// Whether both are one name: the case of letters does not count, and Ollama's clients write NAME:latest for NAME.
bool is_same_name(std::string_view a, std::string_view b);
// Other ids that a name of the hub's may stand for.
std::vector<std::string> hub_spellings(const std::string& id);

// Loading either gives the same model.
bool is_same_model(const ModelSource& a, const ModelSource& b);
// A model that the store has anew keeps the adapters that it was given at the start, not those that the store gave it.
void keep_adapters_of_flags(const ModelSource& old, ModelSource& source);

// The size of a file, or of all files of weights in a folder; 0 where there is none.
uint64_t bytes_on_disk(const std::string& path);
// When it was written; the epoch where there is none.
std::chrono::system_clock::time_point time_of(const std::string& path);

}  // namespace realizar::server
