// Who a call comes from, as far as the engine is concerned: whose share of it the call uses, and whose cached prefixes
// it may find.
#pragma once

#include <cstdint>
#include <string_view>

#include "server/http/auth.h"
#include "server/models/served_model.h"

namespace realizar::server {

// The tenant of a key; where no keys are asked for, that of a client's address. Of an IPv6 address the first 64 bits
// count, since the client chooses those after them.
uint64_t tenant_of(const KeyDigest& key);
uint64_t tenant_of(std::string_view address);

// Calls of different keys share no cached prefixes, and neither do those of one key that name different salts. How soon
// an answer comes would tell what others asked.
uint64_t cache_salt_of(const KeyDigest& key, const ServedModel& model, std::string_view named = "");

}  // namespace realizar::server
