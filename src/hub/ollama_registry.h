// Ollama's registry, from which a model's layers come.
#pragma once

#include "hub/hf_hub.h"
#include "hub/name.h"
#include "realizar/result.h"

namespace realizar::hub {

Result<RemoteModel> find_ollama_model(const ModelName& name, const HubAccess& access);

}  // namespace realizar::hub
