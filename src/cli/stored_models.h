// The models that are on this machine, as a server serves them.
#pragma once

#include <vector>

#include "cli/store_flags.h"
#include "realizar/result.h"
#include "server/models/model_source.h"

namespace realizar::cli {

// The store's models, the one that was pulled last before the others; then those of other programs, and never the
// bundled one. A model that cannot be served is left out, with a line that says so.
std::vector<server::ModelSource> stored_models(const StoreFlags& store);

// A model of that name, which the server was started with. Errors: as StoreFlags::find.
Result<server::ModelSource> named_model(const StoreFlags& store, const std::string& id, const std::string& given);

}  // namespace realizar::cli
