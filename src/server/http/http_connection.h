// The connections of the server: each reads its requests one after the other, hands them to the handler, and sends the
// replies. Boost shows here, so only http_server.cpp and http_connection.cpp include this. I/O thread.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <map>
#include <unordered_set>

#include "server/http/http_exchange.h"
#include "server/http/http_server.h"
#include "server/http/trusted_proxies.h"

namespace realizar::server {

// What all connections share.
struct ConnectionContext {
  HttpOptions options;
  HttpServer::Handler handler;
  std::shared_ptr<BodyRoom> body_room;
  TrustedProxies proxies;
  std::unordered_set<ConnectionBase*> connections;  // those that are open
  // How many of them each client has. A proxy's count while they have a request, as those of its client.
  std::map<std::string, uint32_t> n_of_address;
  uint64_t n_opened = 0;  // since the start
  bool draining = false;

  // Whether the client may have no further connection.
  bool has_most(const std::string& address) const;
};

// "" where the client is gone already, that of loopback for a Unix socket's client. An address of IPv4 on a socket of
// IPv6 is spelled as one of IPv4.
std::string address_of(const boost::asio::ip::tcp::socket& socket);

// The connection serves its socket until it is closed, and owns itself.
// is_owner: it came by the owner's socket.
void start_connection(boost::asio::ip::tcp::socket socket, std::shared_ptr<ConnectionContext> context, bool is_owner);
void start_tls_connection(boost::asio::ip::tcp::socket socket, boost::asio::ssl::context& tls,
                          std::shared_ptr<ConnectionContext> context);

}  // namespace realizar::server
