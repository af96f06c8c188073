// The web pages that may use a server without keys. Browsers send requests of any page to any address: a page whose
// name was made to point here (DNS rebinding) is recognized by the Host header, any other by Origin.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/api_error.h"
#include "server/http/http.h"

namespace realizar::server {

// "localhost", names that end in ".localhost", 127.0.0.0/8 and ::1, with or without brackets.
bool is_loopback(std::string_view host);

struct OriginOptions {
  std::string listen_host;                 // the address that the server listens on
  std::vector<std::string> allowed_hosts;  // names besides those that are always allowed; "*": any
  // Origins whose pages may call: an origin, "chrome-extension://*" for any of a scheme, "http://localhost:*" for any
  // port, "*" for any origin.
  std::vector<std::string> cors_origins;
  bool asks_for_keys = false;  // a page that has a key may use it wherever it comes from
  std::string machine_name;    // as the machine's own network knows it; "": unknown
};

// The effect of a request on others than the client that sends it.
enum class Effect : uint8_t {
  kAnswer,  // none: a model answers it, or it gets the list of models
  kNone,
  kFarReaching,  // it uses the operator's rights, or affects what others get
};

class OriginPolicy {
 public:
  explicit OriginPolicy(OriginOptions options) : options_(std::move(options)) {}

  // 403 for a request from a foreign page; nullopt if it is allowed.
  // Host: a server on loopback, or with allowed_hosts, requires one of its names, with any port; without allowed_hosts
  // these are all names that no page can have, such as host.docker.internal. Other servers require such a name
  // only for requests with an effect. Origin and Sec-Fetch-Site: a request that does anything (it has an effect, or its
  // method is not GET, HEAD or OPTIONS) must come from no page, from a page of this server, or from cors_origins; for
  // an answer also from a local page.
  std::optional<ApiError> refusal(const HttpRequest& request, Effect effect = Effect::kNone) const;
  // Whether it comes from a page of another server on its user's machine, such as Open WebUI, while this server listens
  // on loopback too and requires no key. Such a page may request answers, but not change anything. cors_origins are
  // handled separately.
  bool is_local_page(const HttpRequest& request) const;
  // Whether the origin is one of cors_origins, or that of a program on its user's machine (app://, file://, tauri://,
  // vscode-file://, vscode-webview://).
  bool is_cors_origin(std::string_view origin) const;

 private:
  bool is_own_host(std::string_view host) const;

  OriginOptions options_;
};

}  // namespace realizar::server
