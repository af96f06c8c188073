// URLs for downloads: http and https, a host, a path. Pure.
#pragma once

#include <string>
#include <string_view>

#include "realizar/result.h"

namespace realizar::hub {

struct Url {
  std::string scheme;  // "http" or "https"
  std::string host;    // in lower case; IPv6 with its brackets
  std::string port;    // "": the scheme's default
  std::string rest;    // path and query, beginning with "/"; no fragment

  // "https://host:port": identifies who may receive data meant only for this host.
  std::string origin() const;
  std::string text() const { return origin() + rest; }
  // Without the query, which may contain a signature: for messages.
  std::string shown() const;
  // 127.0.0.0/8, ::1 or localhost.
  bool is_loopback() const;
};

// Errors: InvalidArgument for other schemes, user names and passwords in the URL, control characters, and invalid hosts
// or ports.
Result<Url> parse_url(std::string_view text);
// The URL that a redirect's Location refers to.
Result<Url> resolve_url(const Url& base, std::string_view location);

}  // namespace realizar::hub
