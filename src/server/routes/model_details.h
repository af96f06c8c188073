// Details for the chat page's view of models, besides those that every client gets: the content of files, free memory
// and disk, and what the caller may do.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/backend_numbers.h"
#include "server/call/call.h"
#include "server/http/json.h"
#include "server/models/model_card.h"
#include "server/models/model_registry.h"

namespace realizar::server {

struct ModelDetails {
  std::map<std::string, ModelCardPtr> cards;  // by the model's path
  std::vector<MemoryPlace> memory;
  uint64_t n_disk_bytes = 0;  // free where the store is; 0: not known

  // The details of an entry whose card was read; null if there is none.
  Json of(const Call& call, const ModelRegistry::Entry& entry) const;
  Json of_server(const Call& call) const;
};

// Reads files: for workers.
ModelDetails read_details(ServerContext& context, const std::vector<std::string>& paths);

}  // namespace realizar::server
