// GET /: to browsers the chat page, compressed for those that take it so, and not at all for those that have it.
// GET /manifest.webmanifest: lets a browser install the page as an app (W3C Web Application Manifest).
#include "server/routes/page.h"

#include <zlib.h>

#include <new>
#include <span>

#include "base/hex_digit.h"
#include "server/call/context.h"
#include "server/http/auth.h"
#include "server/http/http_head.h"
#include "server/routes/routes.h"

namespace realizar::server {
namespace {

// What the root says to programs: clients of Ollama look for it before they go on.
constexpr const char* kOllamaIsRunning = "Ollama is running";

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

std::string gzip_of(std::string_view bytes) {
  constexpr int kGzipFormat = 16, kMaxMemory = 9;
  z_stream stream{};
  const int bits = MAX_WBITS + kGzipFormat;
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, bits, kMaxMemory, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
  std::string packed(deflateBound(&stream, bytes.size()), 0);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  static_cast<void>(deflate(&stream, Z_FINISH));  // whole at once: the bound is its size at most
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string etag_of(std::string_view bytes) {
  constexpr size_t kTagBytes = 8;
  const KeyDigest digest = digest_of(bytes);
  return "W/\"" + hex_of(std::span(digest).first(kTagBytes)) + "\"";
}

}  // namespace

const PageFiles& page_files() {
  static const PageFiles files{page_html(), gzip_of(page_html()), etag_of(page_html())};
  return files;
}

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

HttpResponse get_manifest(const Call& call) {
  if (!call.context.options.page || page_html().empty()) {
    return error_response({404, "there is no page to install here", "", "not_found"});
  }
  return {200, "application/manifest+json", std::string(kManifest), {{"Cache-Control", "no-cache"}}};
}

}  // namespace realizar::server
