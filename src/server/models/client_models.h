// Models that clients of Ollama's API have made, and cards that were read for them.
#pragma once

#include <memory>

#include "server/models/blob_upload.h"
#include "server/models/made_models.h"
#include "server/models/model_card.h"

namespace realizar::server {

struct ClientModels {
  MadeModels made;
  ModelCards cards;
  std::shared_ptr<SharedPlaces> uploads = SharedPlaces::create(BlobUpload::kMost);
};

}  // namespace realizar::server
