// The address of a Redis that servers share: redis://[USER@]HOST[:PORT][/DB], or rediss:// for TLS. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "realizar/result.h"

namespace realizar::server {

struct CacheUrl {
  std::string host;  // a name or an address; IPv6 without its brackets
  uint16_t port = 6379;
  uint32_t db = 0;
  std::string user;  // in Redis's access lists; "": the default user
  bool has_tls = false;

  // "redis://cache.local:6379/0", for messages.
  std::string shown() const;
};

// Errors: InvalidArgument (another scheme, a password in the address, invalid users, hosts, ports and databases), with
// the right form.
Result<CacheUrl> parse_cache_url(std::string_view text);

// The first line of a file, without blanks around it. Errors: read_file_or_pipe's; InvalidArgument (it is empty, or
// longer than 4 KB).
Result<std::string> read_cache_password(const std::string& path);

}  // namespace realizar::server
