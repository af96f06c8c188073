// One route: a path, the coroutine that serves a call of it, and the protocol that it speaks.
#pragma once

#include <cstdint>

#include "server/call/context.h"
#include "server/call/protocol.h"

namespace realizar::server {

// The right that a route asks of its callers.
enum class Right : uint8_t {
  kNone,
  kKey,     // one of the keys, where there are any
  kOwn,     // to change what belongs to a key: that key's; where there are none it is everybody's, and it is kManage
  kManage,  // to change the server for others: Call::may_manage
};

struct Route {
  const char* method;
  const char* path;  // may have a name in braces: what stands there in a request's path is Call::path_id
  Task<Status> (*serve)(Call& call);
  const Protocol* protocol = &kPlainProtocol;
  Right right = Right::kKey;
  void (*before_body)(Call& call) = nullptr;  // may answer, or say where the body goes; null: it goes into memory
};

}  // namespace realizar::server
