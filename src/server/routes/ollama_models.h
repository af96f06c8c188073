// The common parts of Ollama's routes of models: models' files by clients' names, and answers.
#pragma once

#include <chrono>
#include <initializer_list>
#include <string>
#include <vector>

#include "server/call/call.h"
#include "server/http/json.h"
#include "server/models/model_aliases.h"
#include "server/models/model_registry.h"

namespace realizar::server {

// A copy of the registry's data on a model's file, which a worker may read while the I/O thread continues.
struct NamedFile {
  std::string name, id, path;
  std::chrono::system_clock::time_point modified;
  BesideSettings beside;
  std::shared_ptr<const StoredTexts> texts;  // null: none
  std::optional<hub::ModelName> store_name;  // nullopt: not from the store
  ModelAliasPtr made;                        // null: the name is the model's own
  std::string adapter = {};                  // that the name requests
};

// I/O thread, as are the next two. `made`: the model made under this name, if the name is not the entry's own.
NamedFile file_of(const ModelRegistry::Entry& entry, std::string name, ModelAliasPtr made = nullptr);
// Files under every name that the client may use.
std::vector<NamedFile> all_files(const Call& call);
// Errors: NotFound.
Result<NamedFile> find_file(const Call& call, const std::string& name);
// Finds the file that another model is made from. Errors: also InvalidArgument naming `field` for a model with an
// adapter.
Result<NamedFile> find_file_to_make_of(const Call& call, const std::string& name, const char* field);

HttpResponse ollama_json(const Json& json);
// The completed steps, as the lines of a stream, or only its last line.
HttpResponse told_steps(bool is_stream, std::initializer_list<const char*> steps);

// The name in the field "model", or in "name" as older clients send it.
Result<std::string> required_name(const Json& body);

}  // namespace realizar::server
