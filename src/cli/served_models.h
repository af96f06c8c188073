// The models for `realizar serve`: named ones, and those of a folder.
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
  std::vector<AdapterSource> adapters;        // by NAME, or ID:NAME if several models are served
  std::vector<std::string> default_adapters;  // likewise
  bool are_deletable = false;                 // clients may delete those of the folder
  bool pull = false;                          // named models that are missing are downloaded
  bool with_store = false;                    // the store's models are served in addition to named ones
  bool with_bundled = false;  // if none is named the bundled model is served, even when there are others
};

// All of them as they are on disk now: files, or models by name. Without any: the models of the store and of other
// programs, or the bundled one if there are none. Errors: NotFound, InvalidArgument, those of downloads.
Result<std::vector<server::ModelSource>> find_served_models(const ServedModelArgs& args, const StoreFlags& store);

// A model that the server's own user names later: a file by its full path, or a name. Errors: NotFound, those of names.
Result<server::ModelSource> find_later_model(const StoreFlags& store, const std::string& given);

}  // namespace realizar::cli
