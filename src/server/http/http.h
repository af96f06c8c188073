// What routes see of HTTP: a request's header, its body once that has been read whole, and the reply. Plain types, no
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

// A request up to the end of its header; trailers of a chunked body are not headers.
struct HttpRequest {
  std::string method;  // "GET"
  std::string path;    // without the query
  std::string query;   // after '?', as sent
  Headers headers;
  std::string peer;            // the address that the connection comes from
  std::string client;          // the client's: the peer's, or what a trusted proxy says
  bool is_local = false;       // the client is on the server's machine
  bool is_owner = false;       // it came by HttpOptions::owner_socket
  uint64_t connection_id = 0;  // no two connections of a server have the same

  // The first header of that name, in any case; "" where there is none.
  std::string_view header(std::string_view name) const;
  size_t count(std::string_view name) const;
};

struct HttpBody {
  std::string bytes;
  BodyRoom::Share share;  // of the room for all bodies, until the bytes are gone
};

// Takes a body as it arrives, in the place of HttpBody's bytes: one that may be larger than memory is.
class BodySink {
 public:
  struct Refusal {
    int status;
    std::string message;
  };
  virtual ~BodySink() = default;
  virtual void take(std::string_view bytes) = 0;
  // It wants no more for now; whoever reads the body waits until on_room is called.
  virtual bool is_full() const = 0;
  // Why the rest of the body is not wanted; nullopt: it is.
  virtual std::optional<Refusal> refusal() const = 0;

  std::function<void()> on_room;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  Headers headers;
};

// What the connection tells whoever replies, until the reply is over.
class ReplyListener {
 public:
  virtual ~ReplyListener() = default;
  virtual void on_body(HttpBody received) = 0;                   // it is there, whole
  virtual void on_no_body(int status, std::string message) = 0;  // it cannot be taken: 400, 413 or 503
  virtual void on_drained() = 0;                                 // there is room to write again
  virtual void on_closed() noexcept = 0;                         // the client went away; the last that is told
};

class Reply {
 public:
  virtual ~Reply() = default;
  // The whole reply, once; or begin_stream, any number of writes, and end. After the client is gone all do nothing.
  virtual void send(HttpResponse response) = 0;
  virtual void begin_stream(HttpResponse head) = 0;
  virtual void write(std::string_view bytes) = 0;
  virtual void end() = 0;
  // So much is unsent that the writer should wait for on_drained().
  virtual bool is_congested() const = 0;
  // Closes the connection: the way out where not even an error can be sent.
  virtual void drop() noexcept = 0;

  // Where the body goes; to be set before it is read. Null: into HttpBody.
  std::shared_ptr<BodySink> body_sink;
  std::weak_ptr<ReplyListener> listener;  // whoever replies, until the reply is over
};

// The names and values of a query, "a=1&b=%20", decoded; a name without a value has "".
std::vector<std::pair<std::string, std::string>> query_fields(std::string_view query);
// The value of the first field of that name; "" where there is none.
std::string query_value(std::string_view query, std::string_view name);

const char* reason_phrase(int status);

// Without blanks at both ends, and a carriage return at the last one.
std::string_view trimmed(std::string_view text);

// The number that a text is, all of it; nullopt for any other text.
template <class T>
std::optional<T> number_of(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

}  // namespace realizar::server
