#include "server/shared/shared_transfer.h"

#include "engine/prefixes.h"

namespace realizar::server {

Status name_text(SharedTransfer& transfer) {
  engine::Prefixes& prefixes = transfer.model->loaded->engine->prefixes();
  const auto source = transfer.model->loaded->source_hash();
  if (!source) return Error{ErrorCode::kInternal, "the weights have no hash", "cache_url"};
  transfer.shape = prefixes.shape(*source);
  transfer.names.emplace(transfer.shape, transfer.salt, transfer.cache_name, transfer.tokens);
  if (!transfer.text) {
    transfer.text.emplace(prefixes.pieces_of(transfer.tokens, transfer.salt.cache_salt, transfer.owner));
  }
  transfer.tokens = {};
  return {};
}

}  // namespace realizar::server
