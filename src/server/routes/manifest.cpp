// GET /manifest.webmanifest: lets a browser install the chat page as an app (W3C Web Application Manifest).
#include "server/call/context.h"
#include "server/routes/page.h"
#include "server/routes/routes.h"

namespace realizar::server {
namespace {

// Addresses are relative to the manifest, so that the page can also be installed under a path prefix.
constexpr std::string_view kManifest = R"({
  "name": "realizar",
  "short_name": "realizar",
  "description": "Chat with the language models of this server",
  "id": "./",
  "start_url": "./",
  "display": "standalone",
  "background_color": "#18191b",
  "theme_color": "#327a72",
  "icons": [{
    "src": "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='4' fill='%23327a72'/%3E%3Cpath d='M5 12V5h3.5a2 2 0 0 1 0 4H5l6 3' fill='none' stroke='%23fff' stroke-width='1.6'/%3E%3C/svg%3E",
    "sizes": "any",
    "type": "image/svg+xml"
  }]
})";

}  // namespace

HttpResponse get_manifest(const Call& call) {
  if (!call.context.options.page || page_html().empty()) {
    return error_response({404, "there is no page to install here", "", "not_found"});
  }
  return {200, "application/manifest+json", std::string(kManifest), {{"Cache-Control", "no-cache"}}};
}

}  // namespace realizar::server
