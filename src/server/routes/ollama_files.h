// What Ollama's routes of models share: the models' files by the names that clients use, and answers.
#pragma once

#include <chrono>
#include <initializer_list>
#include <string>
#include <vector>

#include "server/call/call.h"
#include "server/http/json.h"
#include "server/models/made_models.h"
#include "server/models/model_registry.h"

namespace realizar::server {

// A model's file as the registry has it: what a worker may read while the I/O thread goes on.
struct NamedFile {
  std::string name, id, path;
  std::chrono::system_clock::time_point modified;
  BesideSettings beside;
  std::shared_ptr<const StoredTexts> texts;  // null: there are none
  std::optional<hub::ModelName> store_name;  // nullopt: it is not of the store
  MadeModelPtr made;                         // null: the name is the model's own
  std::string adapter = {};                  // that the name asks for
};

// I/O thread, as the next two. `made`: what the name is of, where it is none of the entry's own.
NamedFile file_of(const ModelRegistry::Entry& entry, std::string name, MadeModelPtr made = nullptr);
// Under every name that the client may use.
std::vector<NamedFile> all_files(const Call& call);
// Errors: NotFound.
Result<NamedFile> find_file(const Call& call, const std::string& name);
// The same for what another model is made of. Errors: also InvalidArgument naming `field` for a model with an adapter.
Result<NamedFile> find_file_to_make_of(const Call& call, const std::string& name, const char* field);

HttpResponse ollama_json(const Json& json);
// What was done, as the lines of a stream or as its last line alone.
HttpResponse told_steps(bool is_stream, std::initializer_list<const char*> steps);

// The name under "model", or under "name" as older clients have it.
Result<std::string> required_name(const Json& body);

}  // namespace realizar::server
