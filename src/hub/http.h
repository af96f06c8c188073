// A client for HTTP and HTTPS based on libcurl: one call after the other, each bounded in time, bytes and redirects,
// and ended at once by a flag that any thread may set. A client belongs to one thread at a time; it keeps its
// connections for its next calls. Proxies come from the environment like curl's (https_proxy, no_proxy), unless the
// settings say otherwise.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hub/url.h"
#include "realizar/result.h"

namespace realizar::hub {

// Detects a reply that arrives too slowly: a server that sends a byte now and then would hold its client forever. Pure:
// the caller supplies the times.
class LeastRate {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // At least `n_bytes` must arrive in each `window`, of which the first begins now; 0: any rate is accepted.
  LeastRate(uint64_t n_bytes, std::chrono::milliseconds window, Time now)
      : n_bytes_(n_bytes), window_(window), begin_(now) {}

  // `n_all`: bytes received so far. Call it more than once per window.
  bool is_missed(uint64_t n_all, Time now) {
    if (n_all - n_before_ >= n_bytes_) {
      n_before_ = n_all;
      begin_ = now;
    }
    return now - begin_ >= window_;
  }

 private:
  uint64_t n_bytes_;
  std::chrono::milliseconds window_;
  Time begin_;
  uint64_t n_before_ = 0;
};

struct HttpSettings {
  std::string ca_file;  // PEM; empty: the system's certificates
  std::chrono::milliseconds connect_timeout{30'000};
  std::chrono::milliseconds stall_timeout{30'000};  // without a byte received
  uint64_t least_bytes = 0;                         // of a reply including its header, in each rate_window; 0: any
                                                    // number
  std::chrono::milliseconds rate_window{60'000};
  bool takes_proxies = true;  // uses the environment's
};

// Subjects of errors for a connection that broke, one that was never made, and one that was too slow: a retry may
// succeed.
inline constexpr const char* kBrokenConnection = "connection";
inline constexpr const char* kNoConnection = "no connection";
inline constexpr const char* kSlowConnection = "slow connection";

inline bool may_pass(const Error& error) {
  return error.subject == kBrokenConnection || error.subject == kNoConnection || error.subject == kSlowConnection;
}

class HttpHeaders {
 public:
  void add(std::string name, std::string value) { rows_.emplace_back(std::move(name), std::move(value)); }
  void clear() { rows_.clear(); }
  // The first header of that name, ignoring case; "" if there is none.
  std::string_view get(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::string>> rows_;
};

// A reply without its body.
struct HttpHead {
  int status = 0;
  HttpHeaders headers;
  Url url;  // after redirects
};

struct HttpCall {
  Url url;
  std::string method = "GET";
  std::vector<std::string> headers = {};  // "Name: value", sent to every host
  std::vector<std::string> credentials =
      {};  // likewise, but only for the origin of `url`: redirects do not pass them on
  std::string body = {};
  uint32_t max_redirects = 8;
  uint64_t max_bytes = 16u << 20;              // limit for the reply's body
  std::chrono::milliseconds total_timeout{0};  // 0: none
  const std::atomic<bool>* cancelled = nullptr;
  // Called when the last reply's header is complete; an error ends the call and is its result.
  std::function<Status(const HttpHead&)> on_head = {};
  // Receives the body as it arrives; if it is empty, the body is in HttpReply::body.
  std::function<Status(std::string_view)> on_bytes = {};
};

struct HttpReply {
  HttpHead head;
  std::string body;
};

class HttpClient {
 public:
  // Errors: Unsupported without libcurl; InvalidArgument for a certificate file that cannot be read.
  static Result<HttpClient> create(const HttpSettings& settings);
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;
  ~HttpClient();

  // Returns replies with any status. Redirects are followed only to http and https, and never from https to http.
  // Errors: ResourceExhausted, subject kNoConnection, kSlowConnection, or kBrokenConnection (also for a stall, a
  // timeout, a body that ends early); InvalidArgument (a certificate, the URL); FormatError (too many redirects or
  // bytes, too long a header, not HTTP); Cancelled; those of on_head and on_bytes.
  Result<HttpReply> send(const HttpCall& call);

 private:
  struct Impl;
  explicit HttpClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace realizar::hub
