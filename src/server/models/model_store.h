// The store of models beside a server: where its models by name are, and where more of them come from.
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

// A model of this machine as the registry takes it. Errors: those of reading its texts and of adapter_of.
Result<ModelSource> source_of_local(const hub::LocalModel& model);

}  // namespace realizar::server
