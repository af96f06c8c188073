#include "hub/http.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/ascii_case.h"
#include "base/caught.h"
#include "base/symbol.h"
#include "base/try.h"

namespace realizar::hub {
namespace {

// libcurl, opened for the first call. If it were linked, the program would load some thirty libraries at every start
// (Kerberos, LDAP, SSH and others), which only downloads need.
struct CurlLibrary {
  decltype(&curl_easy_init) easy_init;
  decltype(&curl_easy_cleanup) easy_cleanup;
  decltype(&curl_easy_reset) easy_reset;
  decltype(&curl_easy_setopt) easy_setopt;
  decltype(&curl_easy_strerror) easy_strerror;
  decltype(&curl_slist_append) slist_append;
  decltype(&curl_slist_free_all) slist_free_all;
  decltype(&curl_multi_init) multi_init;
  decltype(&curl_multi_cleanup) multi_cleanup;
  decltype(&curl_multi_add_handle) multi_add_handle;
  decltype(&curl_multi_remove_handle) multi_remove_handle;
  decltype(&curl_multi_perform) multi_perform;
  decltype(&curl_multi_poll) multi_poll;
  decltype(&curl_multi_info_read) multi_info_read;
};

bool find_symbols(void* library, CurlLibrary& curl) {
  return find_symbol(library, "curl_easy_init", curl.easy_init) &&
         find_symbol(library, "curl_easy_cleanup", curl.easy_cleanup) &&
         find_symbol(library, "curl_easy_reset", curl.easy_reset) &&
         find_symbol(library, "curl_easy_setopt", curl.easy_setopt) &&
         find_symbol(library, "curl_easy_strerror", curl.easy_strerror) &&
         find_symbol(library, "curl_slist_append", curl.slist_append) &&
         find_symbol(library, "curl_slist_free_all", curl.slist_free_all) &&
         find_symbol(library, "curl_multi_init", curl.multi_init) &&
         find_symbol(library, "curl_multi_cleanup", curl.multi_cleanup) &&
         find_symbol(library, "curl_multi_add_handle", curl.multi_add_handle) &&
         find_symbol(library, "curl_multi_remove_handle", curl.multi_remove_handle) &&
         find_symbol(library, "curl_multi_perform", curl.multi_perform) &&
         find_symbol(library, "curl_multi_poll", curl.multi_poll) &&
         find_symbol(library, "curl_multi_info_read", curl.multi_info_read);
}

Result<CurlLibrary> open_curl() {
  // The second one is Debian's build with another TLS library.
  for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4"}) {
    void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    CurlLibrary curl{};
    decltype(&curl_global_init) global_init = nullptr;
    const bool is_whole = find_symbol(library, "curl_global_init", global_init) && find_symbols(library, curl);
    if (is_whole && global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK) return curl;
    ::dlclose(library);
  }
  return unsupported(
      "requests to other servers need libcurl.so.4, which this machine lacks (Debian's package libcurl4)", "libcurl");
}

// Any thread; the library stays open. Errors: Unsupported if this machine does not have it.
Result<const CurlLibrary*> curl_library() {
  static const Result<CurlLibrary> curl = open_curl();
  if (!curl.ok()) return curl.error();
  return &*curl;
}

using HttpClock = std::chrono::steady_clock;

constexpr size_t kMaxHeaderBytes = 256u << 10;  // total for one reply
constexpr int kPollMs = 100;                    // the longest delay until a cancelled call ends

Error broken_connection(const Url& url, std::string_view why) {
  return {ErrorCode::kResourceExhausted, fmt::format("{}: {}", url.shown(), why), kBrokenConnection};
}

Error no_connection(const Url& url, std::string_view why) {
  return {ErrorCode::kResourceExhausted, fmt::format("{}: {}", url.shown(), why), kNoConnection};
}

// The certificates for a libcurl whose build expects them at another path than this system uses.
std::string system_ca_file() {
  for (const char* path : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                           "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}) {
    if (::access(path, R_OK) == 0) return path;
  }
  return {};
}

// A redirect of a request with a body is not followed: the body is sent to one server only.
bool is_followed(const HttpCall& call, int status) {
  const bool is_redirect = status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
  return is_redirect && call.max_redirects > 0 && (call.method == "GET" || call.method == "HEAD");
}

// One request and its reply, without following redirects.
class Transfer {
 public:
  Transfer(const CurlLibrary& curl, const HttpSettings& settings, const HttpCall& call, const Url& url)
      : curl_(curl), settings_(settings), call_(call) {
    reply_.head.url = url;
  }

  HttpClock::time_point last_news() const { return last_news_; }
  // Bytes of the reply, its header, and the request's body.
  uint64_t n_moved() const { return n_bytes_ + n_header_bytes_ + static_cast<uint64_t>(n_sent_); }
  // Called at the end of the header, and of the whole reply.
  Status take_head() {
    if (std::exchange(has_head_, true)) return {};
    return call_.on_head && !is_redirected() ? call_.on_head(reply_.head) : Status();
  }

  Result<HttpReply> result(CURLcode code) {
    if (!status_.ok()) return status_.error();
    const Url& url = reply_.head.url;
    // libcurl's error for a header line beyond its limit (100 KB).
    constexpr int kTooLarge = 100;  // CURLE_TOO_LARGE, since 8.6
    const bool is_line_too_long = code == CURLE_OUT_OF_MEMORY || static_cast<int>(code) == kTooLarge;
    if (is_line_too_long && !has_head_) {
      return format_error(url.shown() + ": the header has a line that is too long", "header");
    }
    switch (code) {
      case CURLE_OK:
        RZ_CHECK_OK(take_head());
        return std::move(reply_);
      case CURLE_PEER_FAILED_VERIFICATION:
      case CURLE_SSL_CACERT_BADFILE:
        return invalid_argument(
            fmt::format("{}: the server's certificate is not trusted ({})", url.shown(), curl_.easy_strerror(code)),
            "certificate");
      case CURLE_UNSUPPORTED_PROTOCOL:
      case CURLE_URL_MALFORMAT:
        return invalid_argument(fmt::format("{}: {}", url.shown(), curl_.easy_strerror(code)), "url");
      case CURLE_WEIRD_SERVER_REPLY:
      case CURLE_HTTP2:
      case CURLE_HTTP2_STREAM:
        return broken_connection(url, "the server does not speak HTTP");
      case CURLE_PARTIAL_FILE:
      case CURLE_GOT_NOTHING:
      case CURLE_RECV_ERROR:
      case CURLE_SEND_ERROR:
        return broken_connection(url, "the server closed the connection too early");
      case CURLE_OPERATION_TIMEDOUT:
        return no_connection(url, fmt::format("no connection within {} ms", settings_.connect_timeout.count()));
      case CURLE_COULDNT_RESOLVE_HOST:
      case CURLE_COULDNT_RESOLVE_PROXY:
      case CURLE_COULDNT_CONNECT:
        return no_connection(url, curl_.easy_strerror(code));
      default:
        return broken_connection(url, curl_.easy_strerror(code));
    }
  }

  bool is_redirected() const { return is_followed(call_, reply_.head.status); }

  static size_t on_header(char* data, size_t size, size_t n, void* self) {
    return static_cast<Transfer*>(self)->add_header({data, size * n});
  }
  static size_t on_body(char* data, size_t size, size_t n, void* self) {
    return static_cast<Transfer*>(self)->add_body({data, size * n});
  }
  // Sent bytes of a long upload count as progress too.
  static int on_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t n_sent) {
    auto& transfer = *static_cast<Transfer*>(self);
    if (std::exchange(transfer.n_sent_, n_sent) != n_sent) transfer.last_news_ = HttpClock::now();
    return 0;
  }

 private:
  size_t add_header(std::string_view line) {
    last_news_ = HttpClock::now();
    n_header_bytes_ += line.size();
    if (n_header_bytes_ > kMaxHeaderBytes) {
      status_ = format_error(reply_.head.url.shown() + ": the header has more than 256 KB", "header");
      return 0;
    }
    const size_t n = line.size();
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    // A status line begins a header; "100 Continue" is followed by another one.
    if (line.starts_with("HTTP/")) {
      reply_.head.headers.clear();
      const std::string_view after = line.substr(std::min(line.find(' '), line.size()));
      reply_.head.status = std::atoi(std::string(after).c_str());
      return n;
    }
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return n;
    const size_t value = line.find_first_not_of(" \t", colon + 1);
    reply_.head.headers.add(std::string(line.substr(0, colon)),
                            value == std::string_view::npos ? "" : std::string(line.substr(value)));
    return n;
  }

  size_t add_body(std::string_view bytes) {
    last_news_ = HttpClock::now();
    if (is_redirected()) return bytes.size();
    n_bytes_ += bytes.size();
    const auto take = [&]() -> Status {
      RZ_CHECK_OK(take_head());
      if (n_bytes_ > call_.max_bytes) {
        return format_error(fmt::format("{}: expected at most {} bytes", reply_.head.url.shown(), call_.max_bytes),
                            "body");
      }
      if (call_.on_bytes) return call_.on_bytes(bytes);
      reply_.body += bytes;
      return {};
    };
    status_ = caught(take);
    return status_.ok() ? bytes.size() : 0;
  }

  const CurlLibrary& curl_;
  const HttpSettings& settings_;
  const HttpCall& call_;
  HttpReply reply_;
  Status status_;
  uint64_t n_bytes_ = 0;
  size_t n_header_bytes_ = 0;
  curl_off_t n_sent_ = 0;
  bool has_head_ = false;
  HttpClock::time_point last_news_ = HttpClock::now();
};

}  // namespace

std::string_view HttpHeaders::get(std::string_view name) const {
  const auto found =
      std::ranges::find_if(rows_, [&](const auto& row) { return equals_ignoring_case(row.first, name); });
  return found == rows_.end() ? std::string_view() : std::string_view(found->second);
}

struct HttpClient::Impl {
  const CurlLibrary& curl;
  HttpSettings settings;
  CURLM* multi = nullptr;
  CURL* easy = nullptr;

  Impl(const CurlLibrary& library, HttpSettings given) : curl(library), settings(std::move(given)) {
    multi = curl.multi_init();
    easy = curl.easy_init();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (easy != nullptr) curl.easy_cleanup(easy);
    if (multi != nullptr) curl.multi_cleanup(multi);
  }

  Result<HttpReply> send_once(const HttpCall& call, const Url& url, HttpClock::time_point deadline) {
    Transfer transfer(curl, settings, call, url);
    curl_slist* headers = nullptr;
    const auto add = [&](const std::string& header) { headers = curl.slist_append(headers, header.c_str()); };
    for (const std::string& header : call.headers) add(header);
    if (url.origin() == call.url.origin()) {
      for (const std::string& header : call.credentials) add(header);
    }
    add("User-Agent: realizar");
    const std::string text = url.text();
    set_up(call, text, headers, transfer);
    curl.multi_add_handle(multi, easy);
    const auto code = wait_for_end(call, transfer, deadline);
    curl.multi_remove_handle(multi, easy);
    curl.slist_free_all(headers);
    if (!code.ok()) return code.error();
    return transfer.result(*code);
  }

  Result<CURLcode> wait_for_end(const HttpCall& call, const Transfer& transfer, HttpClock::time_point deadline) {
    const Url& url = call.url;
    LeastRate rate(settings.least_bytes, settings.rate_window, HttpClock::now());
    while (true) {
      int n_running = 0;
      curl.multi_perform(multi, &n_running);
      int n_left = 0;
      while (const CURLMsg* message = curl.multi_info_read(multi, &n_left)) {
        if (message->msg == CURLMSG_DONE) return message->data.result;
      }
      const auto now = HttpClock::now();
      if (call.cancelled != nullptr && call.cancelled->load()) {
        return Error{ErrorCode::kCancelled, url.shown() + ": cancelled", ""};
      }
      if (now >= deadline) {
        return broken_connection(url, fmt::format("no answer within {} ms", call.total_timeout.count()));
      }
      if (now - transfer.last_news() >= settings.stall_timeout) {
        return broken_connection(url, fmt::format("no byte came for {} ms", settings.stall_timeout.count()));
      }
      if (rate.is_missed(transfer.n_moved(), now)) {
        return Error{ErrorCode::kResourceExhausted,
                     fmt::format("{}: less than {} bytes came in {} ms", url.shown(), settings.least_bytes,
                                 settings.rate_window.count()),
                     kSlowConnection};
      }
      curl.multi_poll(multi, nullptr, 0, kPollMs, nullptr);
    }
  }

  void set_up(const HttpCall& call, const std::string& url, curl_slist* headers, Transfer& transfer) {
    const auto set = [this](CURLoption option, auto value) { curl.easy_setopt(easy, option, value); };
    constexpr long kBufferBytes = 256 << 10;
    curl.easy_reset(easy);
    set(CURLOPT_URL, url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_NOSIGNAL, 1L);
    if (!settings.takes_proxies) set(CURLOPT_PROXY, "");
    set(CURLOPT_HTTPHEADER, headers);
    set(CURLOPT_BUFFERSIZE, kBufferBytes);
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(settings.connect_timeout.count()));
    set(CURLOPT_TCP_KEEPALIVE, 1L);
    const std::string ca_file = settings.ca_file.empty() ? system_ca_file() : settings.ca_file;
    if (!ca_file.empty()) set(CURLOPT_CAINFO, ca_file.c_str());
    if (!settings.ca_file.empty()) set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
    set(CURLOPT_HEADERFUNCTION, &Transfer::on_header);
    set(CURLOPT_HEADERDATA, &transfer);
    set(CURLOPT_WRITEFUNCTION, &Transfer::on_body);
    set(CURLOPT_WRITEDATA, &transfer);
    set(CURLOPT_NOPROGRESS, 0L);
    set(CURLOPT_XFERINFOFUNCTION, &Transfer::on_progress);
    set(CURLOPT_XFERINFODATA, &transfer);
    if (call.method == "HEAD") {
      set(CURLOPT_NOBODY, 1L);
    } else if (call.method != "GET") {
      set(CURLOPT_CUSTOMREQUEST, call.method.c_str());
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(call.body.size()));
      set(CURLOPT_POSTFIELDS, call.body.data());
    }
  }
};

Result<HttpClient> HttpClient::create(const HttpSettings& settings) {
  RZ_TRY(const CurlLibrary* curl, curl_library());
  if (!settings.ca_file.empty() && ::access(settings.ca_file.c_str(), R_OK) != 0) {
    return invalid_argument("cannot read the certificates in " + settings.ca_file, "ca_file");
  }
  auto impl = std::make_unique<Impl>(*curl, settings);
  if (impl->multi == nullptr || impl->easy == nullptr) {
    return Error{ErrorCode::kResourceExhausted, "libcurl gives no connection", kOutOfResources};
  }
  return HttpClient(std::move(impl));
}

HttpClient::HttpClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() = default;

Result<HttpReply> HttpClient::send(const HttpCall& call) {
  const bool has_deadline = call.total_timeout.count() > 0;
  const auto deadline = has_deadline ? HttpClock::now() + call.total_timeout : HttpClock::time_point::max();
  Url url = call.url;
  for (uint32_t n_redirects = 0;; ++n_redirects) {
    RZ_TRY(HttpReply reply, impl_->send_once(call, url, deadline));
    if (!is_followed(call, reply.head.status)) return reply;
    const std::string_view location = reply.head.headers.get("location");
    if (location.empty()) return format_error(url.shown() + ": a redirect without a Location", "redirect");
    if (n_redirects >= call.max_redirects) {
      return format_error(fmt::format("{}: more than {} redirects", call.url.shown(), call.max_redirects), "redirect");
    }
    RZ_TRY(const Url next, resolve_url(url, location));
    if (url.scheme == "https" && next.scheme == "http") {
      return invalid_argument(fmt::format("{} redirects to {}, which is not encrypted", url.shown(), next.shown()),
                              "redirect");
    }
    url = next;
  }
}

}  // namespace realizar::hub
