// Which web pages may use a server that asks for no key. Browsers send requests of any page to any address: a page
// whose name was made to point here (DNS rebinding) shows itself by the Host header, any other by Origin.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/api_error.h"
#include "server/http/http.h"

namespace realizar::server {

// "localhost", names that end in ".localhost", 127.0.0.0/8 and ::1, with brackets or without.
bool is_loopback(std::string_view host);

struct OriginOptions {
  std::string listen_host;                 // what the server listens on
  std::vector<std::string> allowed_hosts;  // names besides those that are allowed anyway; "*": any
  // Whose pages may call: origins, "chrome-extension://*" for all of a scheme, "http://localhost:*" for any port, "*"
  // for any.
  std::vector<std::string> cors_origins;
  bool asks_for_keys = false;  // a page that has a key may use it wherever it comes from
  std::string machine_name;    // as the machine's own network knows it; "": unknown
};

// What a request does to others than the client that sends it.
enum class Effect : uint8_t {
  kAnswer,  // none: a model answers it, or it is told which there are
  kNone,
  kFarReaching,  // it uses the operator's rights, or changes what others get
};

class OriginPolicy {
 public:
  explicit OriginPolicy(OriginOptions options) : options_(std::move(options)) {}

  // 403 for a request that a foreign page made; nothing where it may go on.
  // Host: a server on loopback, or with allowed_hosts, wants one of its names, with any port; without allowed_hosts
  // these are all names that no page can have, such as host.docker.internal. Elsewhere a request with
  // an effect wants a name that no page can have. Origin and Sec-Fetch-Site: a request that does anything (it has an
  // effect, or is neither GET, HEAD nor OPTIONS) comes from no page, from one of this server, or from cors_origins; for
  // an answer also from a local page.
  std::optional<ApiError> refusal(const HttpRequest& request, Effect effect = Effect::kNone) const;
  // Whether it comes from a page of another server on its user's machine, such as Open WebUI, and this one listens on
  // loopback too and asks for no key. Such a page may ask for answers, and change nothing. cors_origins are no such.
  bool is_local_page(const HttpRequest& request) const;
  // Whether the origin is one of cors_origins, or that of a program on its user's machine (app://, file://, tauri://,
  // vscode-file://, vscode-webview://).
  bool is_cors_origin(std::string_view origin) const;

 private:
  bool checks_every_host() const;
  bool is_own_host(std::string_view host) const;

  OriginOptions options_;
};

}  // namespace realizar::server
