// Shared by the routes that change the store of models: permissions and names. I/O thread.
#pragma once

#include <cstdint>
#include <string>

#include "hub/name.h"
#include "server/call/call.h"
#include "server/models/model_store.h"

namespace realizar::server {

// Why a call may not change the store of models.
enum class Lack : uint8_t {
  kNothing,     // it may
  kFlag,        // the server was started without --manage-models
  kAdminKey,    // its key is no admin's
  kOwnMachine,  // without keys clients on the server's machine may, and no pages of others
};
Lack what_lacks(const Call& call);
// 403: the call may not change the server for others. Says who may.
ApiError may_not_manage(const Call& call);
bool may_change_store(const Call& call);
// Answers with 403 and returns true if clients may not change the store.
bool refuse_store_change(Call& call);

// The name of a model to download. A server only contacts the configured hubs, not an address supplied by a client.
// Errors: InvalidArgument.
Result<hub::ModelName> name_to_pull(const std::string& given);
// llama.cpp's users name a repository of Hugging Face as OWNER/REPO[:QUANTIZATION].
hub::ModelName source_for_llama(const hub::ModelName& name);

// Checks that a copied or created model may have the name: a client's own name, not used by a model outside of the
// store. Errors: InvalidArgument.
Status check_name_is_free(const Call& call, const std::string& name);
Result<hub::ModelName> name_in_store(const Call& call, const std::string& given);

// The stored model of that name. Any thread. Errors: as Library::find and source_of_local.
Result<ModelSource> stored_source(const ModelStore& store, const hub::ModelName& name);
// Serves a model that was added to the store, in place of the one that the client knew by that name.
void take_in_stored(const Call& call, ModelSource model);
// Any thread. Errors: those of Store::remove.
Status delete_stored(const ModelStore& store, const hub::ModelName& name);
// Serves a model that is no longer in the store until nobody uses it, and under no name.
void drop_stored(const Call& call, const hub::ModelName& name);

}  // namespace realizar::server
