// Whose share of the engine a call uses.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "server/http/auth.h"

namespace realizar::server {

// The tenant of a key; 0 of none. Where no keys are asked for, that of a client's address. Of an IPv6 address the first
// 64 bits count, since the client chooses those after them.
inline uint64_t tenant_of(const KeyDigest& key) {
  uint64_t tenant = 0;
  std::memcpy(&tenant, key.data(), sizeof tenant);
  return tenant;
}
uint64_t tenant_of(std::string_view address);

}  // namespace realizar::server
