// Decides when to retry a request, and which error to report otherwise.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <thread>

#include "base/printable.h"
#include "base/try.h"
#include "hub/download.h"

namespace realizar::hub {

bool is_passing(int status) {
  constexpr int kTimeout = 408, kTooMany = 429, kServer = 500;
  return status == kTimeout || status == kTooMany || status >= kServer;
}

// In seconds; the other form, a date, is rare, and depends on the server's clock.
std::optional<std::chrono::milliseconds> retry_after(const HttpHead& head) {
  const std::string_view text = head.headers.get("retry-after");
  constexpr uint32_t kMaxSeconds = 1'000'000;
  uint32_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return std::chrono::seconds(std::min(seconds, kMaxSeconds));
}

Error refusal(const HttpHead& head, const std::string& what) {
  constexpr int kUnauthorized = 401, kForbidden = 403, kNotFound = 404, kGone = 410;
  const std::string where = head.url.origin();
  // Hugging Face gives the reason in this header.
  const std::string_view reason = head.headers.get("x-error-message");
  const std::string because = reason.empty() ? "" : fmt::format(" ({})", shown(reason, 200));
  switch (head.status) {
    case kUnauthorized:
      return invalid_argument(fmt::format("{}: {} requires a token with read access{}; use --token-file FILE or "
                                          "HF_TOKEN. A misspelled name gets the same answer",
                                          what, where, because),
                              "token");
    case kForbidden:
      return invalid_argument(fmt::format("{}: {} does not let this token read it{}; a gated model's terms must be "
                                          "accepted on its page first",
                                          what, where, because),
                              "token");
    case kNotFound:
    case kGone:
      return not_found(fmt::format("{}: {} does not have it{}", what, where, because), "model");
    default:
      break;
  }
  const auto wait = retry_after(head);
  const std::string later = wait ? fmt::format("; it asks to try again in {} s", wait->count() / 1000) : "";
  const std::string message =
      fmt::format("{}: {} answers with status {}{}{}", what, where, head.status, because, later);
  if (is_passing(head.status)) return {ErrorCode::kResourceExhausted, message, kBrokenConnection};
  return invalid_argument(message, "status");
}

Error with_hint(Error error) {
  if (error.subject != kNoConnection) return error;
  error.message +=
      "; is this machine offline? A proxy is taken from https_proxy and http_proxy, and --mirror URL asks another "
      "server";
  return error;
}

Status wait_for(std::chrono::milliseconds time, const std::atomic<bool>* cancelled) {
  constexpr auto kStep = std::chrono::milliseconds(50);
  const auto end = std::chrono::steady_clock::now() + time;
  while (true) {
    if (cancelled != nullptr && cancelled->load()) return Error{ErrorCode::kCancelled, "cancelled", ""};
    const auto now = std::chrono::steady_clock::now();
    if (now >= end) return {};
    std::this_thread::sleep_for(std::min<std::chrono::steady_clock::duration>(kStep, end - now));
  }
}

Result<HttpReply> send_patiently(HttpClient& client, const HttpCall& call, const std::string& what,
                                 const DownloadSettings& settings) {
  constexpr int kSuccess = 200, kRedirect = 300;
  auto delay = settings.first_delay;
  for (uint32_t n_tries = 1;; ++n_tries) {
    auto reply = client.send(call);
    if (reply.ok() && reply->head.status >= kSuccess && reply->head.status < kRedirect) return reply;
    Error error = reply.ok() ? refusal(reply->head, what) : reply.error();
    auto wait = delay;
    if (reply.ok()) wait = std::max(wait, retry_after(reply->head).value_or(wait));
    const uint32_t n_most = error.subject == kNoConnection ? settings.n_reconnects : settings.n_retries;
    if (!may_pass(error) || n_tries > n_most || wait > settings.max_retry_after) return error;
    if (settings.on_retry) settings.on_retry(error, wait);
    RZ_CHECK_OK(wait_for(wait, call.cancelled));
    delay *= 2;
  }
}

}  // namespace realizar::hub
