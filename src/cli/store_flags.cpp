#include "cli/store_flags.h"

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/try.h"
#include "cli/output.h"
#include "hub/locate.h"
#include "hub/user_folders.h"

namespace realizar::cli {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxTokenBytes = 4096;
// What each connection must bring, measured over twice the time in which one byte must come. A slow mobile network
// brings ten times as much.
constexpr uint32_t kLeastBytesASecond = 256, kRateWindows = 2;

// A token is one word, which goes into a header.
Result<std::string> read_token(const fs::path& file) {
  RZ_TRY(std::string token, read_file_or_pipe(file, kMaxTokenBytes));
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r' || token.back() == ' ')) token.pop_back();
  const auto is_plain = [](char c) { return c > ' ' && c < 0x7f; };
  if (!token.empty() && std::all_of(token.begin(), token.end(), is_plain)) return token;
  return invalid_argument(file.string() + ": expected a token, which is one word", "token_file");
}

// The token of Hugging Face's own programs. A server that HF_ENDPOINT names gets the one that stands beside it in the
// environment, and none that was kept for huggingface.co.
std::string users_token(bool is_elsewhere) {
  const hub::UserTokens tokens = hub::user_tokens();
  if (!tokens.hugging_face.empty() || is_elsewhere) return tokens.hugging_face;
  const auto token = read_token(tokens.hugging_face_file);
  return token.ok() ? *token : "";
}

}  // namespace

void StoreFlags::add_to(Flags flags, Network network) {
  flags = flags.group("Names and downloads").advanced();
  flags.option("--models-store", folder, "Folder of the models that were pulled; created when the first one is")
      .with_default("~/.local/share/realizar/models")
      .folder();
  if (network == Network::kNone) return;
  flags.flag("--offline", offline, "Ask no server: use only what is on this machine");
  flags
      .option("--mirror", mirror,
              "Server that is asked in place of huggingface.co (default: HF_ENDPOINT), or, for ollama: names, of "
              "registry.ollama.ai")
      .shown_as("URL");
  flags
      .option("--token-file", token_file,
              "File with a token for Hugging Face, or for the mirror (default: HF_TOKEN, which no mirror gets)")
      .file();
  flags
      .option("--ca-file", ca_file,
              "Certificates (PEM) that are trusted, in place of the system's (default: SSL_CERT_FILE)")
      .file();
  flags.option("--connections", n_connections, "Fetch N parts of a file at the same time")
      .in_range(1, 64)
      .with_default();
  flags.option("--timeout", timeout_s, "Give a connection up that has brought nothing for N seconds, and try again")
      .in_range(1, 3600)
      .with_default();
}

hub::Library StoreFlags::library() const {
  return hub::user_library(folder);
}

Result<hub::HubSettings> StoreFlags::hub_settings() const {
  hub::HubSettings settings;
  settings.offline = offline;
  settings.download.n_connections = n_connections;
  settings.download.http.stall_timeout = std::chrono::seconds(timeout_s);
  settings.download.http.connect_timeout = std::chrono::seconds(timeout_s);
  settings.download.http.rate_window = kRateWindows * std::chrono::seconds(timeout_s);
  settings.download.http.least_bytes = uint64_t{kLeastBytesASecond} * kRateWindows * timeout_s;
  settings.download.http.ca_file = ca_file.empty() ? hub::user_tokens().ca_file : ca_file;
  const std::string endpoint = hub::hugging_face_endpoint();
  const std::string& other = mirror.empty() ? endpoint : mirror;
  if (!other.empty()) {
    RZ_TRY([[maybe_unused]] const hub::Url url, hub::parse_url(other));
    settings.hugging_face = other;
  }
  if (!mirror.empty()) settings.ollama = mirror;
  // What the environment holds is for huggingface.co; a mirror gets what is given with it.
  if (!token_file.empty()) {
    RZ_TRY(settings.token, read_token(token_file));
  } else if (mirror.empty()) {
    settings.token = users_token(!endpoint.empty());
  }
  return settings;
}

Result<hub::LocalModel> StoreFlags::find_named(const std::string& given) const {
  return hub::locate_named(library(), given);
}

Result<FoundModel> StoreFlags::find(const std::string& given) const {
  RZ_TRY(FoundModel model, find_model(library(), given));
  if (!model.note.empty()) warn(model.note);
  return model;
}

Status StoreFlags::find_path(std::string& given) const {
  RZ_TRY(FoundModel model, find(given));
  given = std::move(model.path);
  return {};
}

}  // namespace realizar::cli
