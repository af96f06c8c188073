// Where events are published: addresses as ZeroMQ has them, checked before a socket is made.
#pragma once

#include <string>

#include "realizar/result.h"

namespace realizar::server {

struct KvEndpoint {
  std::string address;
  bool binds = false;    // waits there for others; else goes there, where one waits
  bool is_ipv6 = false;  // has an IPv6 address
};

// tcp://HOST:PORT or ipc://PATH. By vLLM's rule addresses with "*" or "::", and those of ipc, bind, and others connect;
// with `always_binds` all do. PORT may be * or 0 where it binds: any free one. `flag` begins the error. Errors:
// InvalidArgument.
Result<KvEndpoint> read_kv_endpoint(const std::string& address, const std::string& flag, bool always_binds);

}  // namespace realizar::server
