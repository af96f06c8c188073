// MCP's streamable HTTP: each message is a separate request, answered by a body or a stream of events. Stateless.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "hub/http.h"
#include "mcp/server_list.h"
#include "mcp/transport.h"

namespace realizar::mcp {

class HttpTransport final : public Transport {
 public:
  // `ca_file`: certificates (PEM) to use instead of the system's; empty: the system's.
  HttpTransport(HttpAddress address, std::string ca_file)
      : address_(std::move(address)), ca_file_(std::move(ca_file)) {}

  // A stream that breaks before the answer is resumed if the server supports that.
  Result<Answer> ask(const Session& session, const Outgoing& request, const Patience& patience) override;
  Status tell(const Session& session, const std::string& message, const Patience& patience) override;
  void end(const Session& session, const Patience& patience) override;

 private:
  // Called with each piece of a body as it arrives. False: no more is needed, and the exchange ends successfully.
  using OnBody = std::function<bool(const hub::HttpHead& head, std::string_view piece)>;

  hub::HttpCall call_of(const Session& session, std::string method, std::string body) const;
  Result<hub::HttpHead> exchange(hub::HttpCall call, const Patience& patience, const OnBody& on_body) const;

  HttpAddress address_;
  std::string ca_file_;
};

}  // namespace realizar::mcp
