// The addresses where events are published, in ZeroMQ's syntax, checked before a socket is made.
#pragma once

#include <string>

#include "realizar/result.h"

namespace realizar::server {

struct KvEndpoint {
  std::string address;
  bool binds = false;    // listens there; otherwise connects to a listener there
  bool is_ipv6 = false;  // has an IPv6 address
};

// tcp://HOST:PORT or ipc://PATH. By vLLM's rule, addresses with "*" or "::" and ipc addresses bind, and others connect;
// with `always_binds` all bind. PORT may be * or 0 for a bound address: any free port. `flag` is at the beginning of
// the error's message. Errors: InvalidArgument.
Result<KvEndpoint> read_kv_endpoint(const std::string& address, const std::string& flag, bool always_binds);

}  // namespace realizar::server
