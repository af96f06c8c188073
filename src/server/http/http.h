// HTTP as routes see it: a request's header, its body after it was read completely, and the reply. Plain types, no
// sockets; all calls on the I/O thread.
#pragma once

#include <charconv>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/http/body_room.h"

namespace realizar::server {

using Headers = std::vector<std::pair<std::string, std::string>>;

// A request up to the end of its header; the trailers of a chunked body do not count as headers.
struct HttpRequest {
  std::string method;  // "GET"
  std::string path;    // without the query
  std::string query;   // after '?', as sent
  Headers headers;
  std::string peer;            // the address of the connection
  std::string client;          // the peer's address, or the client's according to a trusted proxy
  bool is_local = false;       // the client is on the server's machine
  bool is_owner = false;       // it came through HttpOptions::owner_socket
  uint64_t connection_id = 0;  // unique within a server

  // The first header of that name, in any case; "" if there is none.
  std::string_view header(std::string_view name) const;
  size_t count(std::string_view name) const;
};

struct HttpBody {
  std::string bytes;
  BodyRoom::Share share;  // of the room for all bodies, released with the bytes
};

// Receives a body as it arrives, instead of HttpBody's bytes, for bodies that may be larger than memory.
class BodySink {
 public:
  struct Refusal {
    int status;
    std::string message;
  };
  virtual ~BodySink() = default;
  virtual void take(std::string_view bytes) = 0;
  // True: accepts no more for now; the reader of the body waits until on_room is called.
  virtual bool is_full() const = 0;
  // Why the rest of the body is refused; nullopt: it is not.
  virtual std::optional<Refusal> refusal() const = 0;

  std::function<void()> on_room;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  Headers headers;
};

// Receives the connection's events until the reply is over.
class ReplyListener {
 public:
  virtual ~ReplyListener() = default;
  virtual void on_body(HttpBody received) = 0;                   // the whole body has arrived
  virtual void on_no_body(int status, std::string message) = 0;  // the body was refused: 400, 413 or 503
  virtual void on_drained() = 0;                                 // there is room to write again
  virtual void on_closed() noexcept = 0;                         // the client has disconnected; the last event
};

class Reply {
 public:
  virtual ~Reply() = default;
  // The whole reply, once; or begin_stream, any number of writes, and end. After the client has disconnected, all of
  // them do nothing.
  virtual void send(HttpResponse response) = 0;
  virtual void begin_stream(HttpResponse head) = 0;
  virtual void write(std::string_view bytes) = 0;
  virtual void end() = 0;
  // True: much is unsent, and the writer should wait for on_drained().
  virtual bool is_congested() const = 0;
  // Closes the connection, for cases where not even an error can be sent.
  virtual void drop() noexcept = 0;

  // The receiver of the body, to be set before the body is read. Null: HttpBody.
  std::shared_ptr<BodySink> body_sink;
  std::weak_ptr<ReplyListener> listener;  // the sender of the reply, until it is over
};

// The names and values of a query, "a=1&b=%20", decoded; a name without a value has "".
std::vector<std::pair<std::string, std::string>> query_fields(std::string_view query);
// The value of the first field of that name; "" if there is none.
std::string query_value(std::string_view query, std::string_view name);

const char* reason_phrase(int status);

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

// Without blanks at either end, nor a carriage return at the end.
std::string_view trimmed(std::string_view text);

// The number that the whole text consists of; nullopt for any other text.
template <class T>
std::optional<T> number_of(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

}  // namespace realizar::server
