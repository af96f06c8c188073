// GET /: the chat page for browsers, compressed if they accept it, and empty if they have it already.
// GET /manifest.webmanifest: lets a browser install the page as an app (W3C Web Application Manifest).
#include "server/routes/page.h"

#include <algorithm>
#include <vector>

#include "base/hex_digit.h"
#include "server/call/context.h"
#include "server/http/auth.h"
#include "server/http/body_coding.h"
#include "server/http/http.h"
#include "server/routes/routes.h"

namespace realizar::server {
namespace {

// The root's reply to programs: clients of Ollama check it before they continue.
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

// Clients that have the file get only its tag.
HttpResponse file_response(const Call& call, const PageFile& file, const char* content_type) {
  // Hashing a file takes longer than sending its tag.
  static const std::vector<std::string> tags = [] {
    constexpr size_t kTagBytes = 8;
    std::vector<std::string> made;
    for (const PageFile& one : page_files()) {
      const KeyDigest digest = digest_of(one.gzip);
      made.push_back("W/\"" + hex_of(std::span(digest).first(kTagBytes)) + "\"");
    }
    return made;
  }();
  const std::string& etag = tags[static_cast<size_t>(&file - page_files().data())];
  HttpResponse response{200, content_type, "", {}};
  response.headers = {{"Cache-Control", "no-cache"}, {"ETag", etag}, {"Referrer-Policy", "no-referrer"}};
  if (names_tag(call.request.header("if-none-match"), etag)) {
    response.status = 304;
    response.content_type.clear();
  } else if (accepts_gzip(call.request.header("accept-encoding"))) {
    response.headers.emplace_back("Content-Encoding", "gzip");
    response.body = file.gzip;
  } else {
    BodyRoom::Share unlimited;
    response.body = decode_body(file.gzip, BodyCoding::kGzip, SIZE_MAX, unlimited).bytes;
  }
  return response;
}

}  // namespace

const PageFile* page_file(std::string_view name) {
  const auto file = std::ranges::find(page_files(), name, &PageFile::name);
  return file == page_files().end() ? nullptr : &*file;
}

HttpResponse get_page(const Call& call) {
  if (call.request.header("accept").find("text/html") == std::string_view::npos) {
    return {200, "text/plain; charset=utf-8", kOllamaIsRunning, {{"Vary", "Accept"}}};
  }
  if (!call.context.options.page) return error_response({404, "the page is switched off", "", ""});
  const PageFile* page = page_file("index.html");
  if (page == nullptr) {
    return error_response(
        {404, "this program was built without its chat page (REALIZAR_PAGE=OFF); the API is at /v1", "", "no_page"});
  }
  HttpResponse response = file_response(call, *page, "text/html; charset=utf-8");
  response.headers.emplace_back("Vary", "Accept, Accept-Encoding");
  response.headers.emplace_back("X-Frame-Options", "DENY");
  return response;
}

// A part of the page. Its own policy is a worker's: it asks for nothing.
HttpResponse get_page_part(const Call& call) {
  const PageFile* part = call.context.options.page ? page_file(call.path_id) : nullptr;
  if (part == nullptr || !part->name.ends_with(".js")) {
    return error_response({404, "the page has no such file", "", "not_found"});
  }
  HttpResponse response = file_response(call, *part, "text/javascript; charset=utf-8");
  response.headers.emplace_back("Vary", "Accept-Encoding");
  response.headers.emplace_back("Content-Security-Policy", "default-src 'none'");
  return response;
}

HttpResponse get_manifest(const Call& call) {
  if (!call.context.options.page || page_files().empty()) {
    return error_response({404, "there is no page to install here", "", "not_found"});
  }
  return {200, "application/manifest+json", std::string(kManifest), {{"Cache-Control", "no-cache"}}};
}

}  // namespace realizar::server
