// GET /: the chat page.
#include "server/page.h"

#include "server/routes.h"

namespace realizar::server {

void get_page(Call call) {
  if (!call.context.options.page) return call.reply->send(error_response({404, "the page is switched off", "", ""}));
  if (page_html().empty()) {
    return call.reply->send(error_response(
        {404, "this program was built without its chat page (REALIZAR_PAGE=OFF); the API is at /v1", "", "no_page"}));
  }
  HttpResponse response{200, "text/html; charset=utf-8", std::string(page_html()), {}};
  response.headers = {{"Cache-Control", "no-cache"},
                      {"X-Content-Type-Options", "nosniff"},
                      {"X-Frame-Options", "DENY"},
                      {"Referrer-Policy", "no-referrer"}};
  call.reply->send(std::move(response));
}

}  // namespace realizar::server
