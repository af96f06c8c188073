// The connections of the server: each reads its requests one after the other, passes them to the handler, and sends the
// replies. Only http_server.cpp and http_connection.cpp include this header, since it exposes Boost. I/O thread.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <map>
#include <unordered_set>

#include "server/http/http_exchange.h"
#include "server/http/http_server.h"
#include "server/http/trusted_proxies.h"

namespace realizar::server {

// State shared by all connections.
struct ConnectionContext {
  HttpOptions options;
  HttpServer::Handler handler;
  std::shared_ptr<BodyRoom> body_room;
  TrustedProxies proxies;
  std::unordered_set<ConnectionBase*> connections;  // the open ones
  // The number of each client's connections. A proxy's connections count as its client's during a request.
  std::map<std::string, uint32_t> n_of_address;
  uint64_t n_opened = 0;  // since the start
  bool draining = false;

  // Whether the client has reached its maximum of connections.
  bool has_most(const std::string& address) const;
};

// "" if the client has already disconnected, the loopback address for a client of a Unix socket. An IPv4 address on an
// IPv6 socket is written as an IPv4 address.
std::string address_of(const boost::asio::ip::tcp::socket& socket);

// The connection serves its socket until it is closed, and owns itself.
// is_owner: it came through the owner's socket.
void start_connection(boost::asio::ip::tcp::socket socket, std::shared_ptr<ConnectionContext> context, bool is_owner);
void start_tls_connection(boost::asio::ip::tcp::socket socket, boost::asio::ssl::context& tls,
                          std::shared_ptr<ConnectionContext> context);

}  // namespace realizar::server
