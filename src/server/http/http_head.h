// Parts of HTTP/1.1 that are read before the parser, or without one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "server/http/http.h"

namespace realizar::server {

// The length of empty lines at the beginning, which clients may send between requests (RFC 9112, section 2.2).
size_t n_empty_line_bytes(std::string_view bytes);
// Whether a line of the header continues on the next one, which is obsolete and interpreted in different ways (RFC
// 9112, section 5.2). `bytes` begins at a line of the header; data after the header is ignored.
bool has_folded_line(std::string_view bytes);
// The path of a target http://host/path, which proxies send (RFC 9112, section 3.2.2); any other target unchanged.
std::string_view origin_form(std::string_view target);
// The error in headers that the parser accepted; "" if there is none. Two readers of such a request could see different
// hosts, different keys, or a different end of its body (RFC 9112, section 6.3).
std::string wrong_headers(const HttpRequest& request, bool is_http_1_0);
// Whether an If-None-Match header contains the tag, which is weak (RFC 9110, section 13.1.2).
bool names_tag(std::string_view if_none_match, std::string_view etag);
// Whether an Accept-Encoding header contains gzip with a weight above 0.
bool accepts_gzip(std::string_view accept_encoding);
// "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, section 5.6.7).
std::string http_date(int64_t unix_s);

}  // namespace realizar::server
