#include "hub/user_settings.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "base/files.h"
#include "base/try.h"
#include "hub/user_folders.h"

namespace realizar::hub {
namespace {

constexpr uint64_t kMaxTokenBytes = 4096;
// The bytes that each connection must deliver, measured over twice the stall timeout. A slow mobile network delivers
// ten times as much.
constexpr uint32_t kLeastBytesASecond = 256, kRateWindows = 2;

// A token is one word, which is sent in a header.
Result<std::string> checked_token(std::string token, const std::string& where) {
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r' || token.back() == ' ')) token.pop_back();
  const auto is_plain = [](char c) { return c > ' ' && c < 0x7f; };
  if (!token.empty() && std::ranges::all_of(token, is_plain)) return token;
  return invalid_argument(where + ": expected a token, which is one word", "token");
}

Result<std::string> read_token(const std::filesystem::path& file) {
  RZ_TRY(std::string token, read_file_or_pipe(file, kMaxTokenBytes));
  return checked_token(std::move(token), file.string());
}

// The token of Hugging Face's own programs. A server set by HF_ENDPOINT gets the token from the environment, but not
// one stored for huggingface.co.
std::string users_token(bool is_elsewhere) {
  const UserTokens tokens = user_tokens();
  if (!tokens.hugging_face.empty() || is_elsewhere) return tokens.hugging_face;
  const auto token = read_token(tokens.hugging_face_file);
  return token.ok() ? *token : "";
}

// The environment's token is for huggingface.co; a mirror gets the token given with it.
Result<std::string> token_of(const HubChoices& choices, bool is_elsewhere) {
  if (!choices.token.empty()) return checked_token(choices.token, "token");
  if (!choices.token_file.empty()) return read_token(choices.token_file);
  return choices.mirror.empty() ? users_token(is_elsewhere) : "";
}

}  // namespace

Result<HubSettings> user_hub_settings(const HubChoices& choices) {
  HubSettings settings;
  settings.offline = choices.offline;
  settings.download.n_connections = choices.n_connections;
  const auto timeout = std::chrono::seconds(choices.timeout_s);
  settings.download.http.stall_timeout = timeout;
  settings.download.http.connect_timeout = timeout;
  settings.download.http.rate_window = kRateWindows * timeout;
  settings.download.http.least_bytes = uint64_t{kLeastBytesASecond} * kRateWindows * choices.timeout_s;
  settings.download.http.ca_file = choices.ca_file.empty() ? user_tokens().ca_file : choices.ca_file;
  const std::string endpoint = hugging_face_endpoint();
  const std::string& other = choices.mirror.empty() ? endpoint : choices.mirror;
  if (!other.empty()) {
    RZ_TRY([[maybe_unused]] const Url url, parse_url(other));
    settings.hugging_face = other;
  }
  if (!choices.mirror.empty()) settings.ollama = choices.mirror;
  RZ_TRY(settings.token, token_of(choices, !endpoint.empty()));
  return settings;
}

}  // namespace realizar::hub
