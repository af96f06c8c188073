// The server's view of the store of models: which models it has by name, and where to get more.
#pragma once

#include "hub/library.h"
#include "hub/pull.h"
#include "realizar/result.h"
#include "server/models/model_source.h"

namespace realizar::server {

struct ModelStore {
  hub::Library library;
  hub::HubSettings hub;
  bool may_change = false;  // clients may download, create, copy and delete models
};

// A local model as a source for the registry. Errors: those of reading its texts and of adapter_of.
Result<ModelSource> source_of_local(const hub::LocalModel& model);

}  // namespace realizar::server
