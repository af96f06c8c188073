// GET /: to browsers the chat page, compressed for those that take it so, and not at all for those that have it.
#include "server/routes/page.h"

#include <fmt/format.h>

#include "server/call/context.h"
#include "server/http/http_head.h"
#include "server/routes/routes.h"

namespace realizar::server {

// What the root says to programs: clients of Ollama look for it before they go on.
constexpr const char* kOllamaIsRunning = "Ollama is running";

HttpResponse get_page(const Call& call) {
  if (call.request.header("accept").find("text/html") == std::string_view::npos) {
    return {200, "text/plain; charset=utf-8", kOllamaIsRunning, {{"Vary", "Accept"}}};
  }
  if (!call.context.options.page) return error_response({404, "the page is switched off", "", ""});
  if (page_html().empty()) {
    return error_response(
        {404, "this program was built without its chat page (REALIZAR_PAGE=OFF); the API is at /v1", "", "no_page"});
  }
  const PageFiles& page = page_files();
  HttpResponse response{200, "text/html; charset=utf-8", "", {}};
  response.headers = {{"Cache-Control", "no-cache"},
                      {"ETag", page.etag},
                      {"Vary", "Accept, Accept-Encoding"},
                      {"X-Frame-Options", "DENY"},
                      {"Referrer-Policy", "no-referrer"}};
  if (names_tag(call.request.header("if-none-match"), page.etag)) {
    response.status = 304;
    response.content_type.clear();
  } else if (accepts_gzip(call.request.header("accept-encoding"))) {
    response.headers.emplace_back("Content-Encoding", "gzip");
    response.body = page.gzip;
  } else {
    response.body = page.html;
  }
  return response;
}

}  // namespace realizar::server
