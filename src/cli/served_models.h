// The models that `realizar serve` is given: named ones, and those of a folder.
#pragma once

#include <string>
#include <vector>

#include "cli/store_flags.h"
#include "realizar/result.h"
#include "server/models/model_source.h"

namespace realizar::cli {

struct ServedModelArgs {
  std::vector<std::string> models;  // PATH or NAME, or ID=PATH or ID=NAME
  std::string folder;               // of --models-dir
  std::vector<std::string> aliases, tags;
  std::vector<AdapterSource> adapters;        // by NAME, or ID:NAME where several models are served
  std::vector<std::string> default_adapters;  // the same names
  bool are_deletable = false;                 // those of the folder, by clients
  bool pull = false;                          // those that are named and not here are downloaded
  bool with_store = false;                    // the store's models are served besides those that are named
  bool with_bundled = false;  // where none is named the bundled model is served, also once there are others
};

// All of them as they lie on the disk now, files or models by their names. Where nothing is given: the models of the
// store and of other programs, or the bundled one where there are none. Errors: NotFound, InvalidArgument, those of
// downloads.
Result<std::vector<server::ModelSource>> find_served_models(const ServedModelArgs& args, const StoreFlags& store);

// A model that the server's own user names later: a file by its whole path, or a name. Errors: NotFound, those of
// names.
Result<server::ModelSource> find_later_model(const StoreFlags& store, const std::string& given);

}  // namespace realizar::cli
