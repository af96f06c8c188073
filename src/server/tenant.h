// Who a call comes from, as far as the engine is concerned: whose share of it the call uses, and whose cached prefixes
// it may find.
#pragma once

#include <cstdint>
#include <string_view>

#include "server/context.h"

namespace realizar::server {

// Of a key; and where no keys are asked for, of a client's address: its first 64 bits where it is IPv6, since those
// after them are the client's own choice.
uint64_t tenant_of(const KeyDigest& key);
uint64_t tenant_of(std::string_view address);

// Calls of different keys share no cached prefixes, and neither do those of one key that name different salts. How soon
// an answer comes would tell what others asked.
uint64_t cache_salt_of(const Call& call, const ServedModel& model, std::string_view named = "");

}  // namespace realizar::server
