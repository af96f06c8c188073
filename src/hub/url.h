// URLs as far as downloads need them: http and https, a host, a path. Pure.
#pragma once

#include <string>
#include <string_view>

#include "realizar/result.h"

namespace realizar::hub {

struct Url {
  std::string scheme;  // "http" or "https"
  std::string host;    // in lower case; of IPv6 with its brackets
  std::string port;    // "": the scheme's own
  std::string rest;    // path and query, beginning with "/"; no fragment

  // "https://host:port": who may be told what is for this host alone.
  std::string origin() const;
  std::string text() const { return origin() + rest; }
  // Without the query, which may hold a signature: for messages.
  std::string shown() const;
  // 127.0.0.0/8, ::1 or localhost.
  bool is_loopback() const;
};

// Errors: InvalidArgument for other schemes, names and passwords in the URL, control characters, and hosts or ports
// that there cannot be.
Result<Url> parse_url(std::string_view text);
// What a redirect's Location means at that URL.
Result<Url> resolve_url(const Url& base, std::string_view location);

}  // namespace realizar::hub
