#include "hub/user_folders.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/files.h"
#include "base/try.h"

namespace realizar::hub {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The specification declares relative paths invalid.
std::optional<fs::path> base_folder(const char* name, const char* below_home) {
  const std::string base = variable(name), home = variable("HOME");
  if (base.starts_with('/')) return fs::path(base);
  if (!home.starts_with('/')) return std::nullopt;
  return fs::path(home) / below_home;
}

std::optional<fs::path> folder_in(const char* name, const char* below_home) {
  const auto base = base_folder(name, below_home);
  return base ? std::optional(*base / "realizar") : std::nullopt;
}

// Hugging Face's folder.
fs::path hugging_face_home() {
  if (const std::string home = variable("HF_HOME"); !home.empty()) return home;
  const auto caches = base_folder("XDG_CACHE_HOME", ".cache");
  return caches ? *caches / "huggingface" : fs::path();
}

// The library's folder, if this code is in one, then the program's.
std::vector<fs::path> folders_of_this_code() {
  std::vector<fs::path> folders;
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&bundled_file), &info) != 0 && info.dli_fname != nullptr) {
    const fs::path file = info.dli_fname;
    if (file.has_parent_path()) folders.push_back(file.parent_path());
  }
  std::error_code error;
  folders.push_back(fs::read_symlink("/proc/self/exe", error).parent_path());
  return folders;
}

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

std::optional<fs::path> state_folder() {
  return folder_in("XDG_STATE_HOME", ".local/state");
}

std::optional<fs::path> runtime_folder() {
  const std::string base = variable("XDG_RUNTIME_DIR");
  return base.starts_with('/') ? std::optional(fs::path(base) / "realizar") : std::nullopt;
}

std::optional<fs::path> service_socket() {
  const auto folder = runtime_folder();
  return folder ? std::optional(*folder / "service.sock") : std::nullopt;
}

std::optional<fs::path> cache_folder() {
  return folder_in("XDG_CACHE_HOME", ".cache");
}

std::optional<fs::path> data_folder() {
  return folder_in("XDG_DATA_HOME", ".local/share");
}

ForeignCaches model_caches() {
  ForeignCaches caches;
  const fs::path home = hugging_face_home();
  caches.hugging_face = home.empty() ? fs::path() : home / "hub";
  for (const char* name : {"HUGGINGFACE_HUB_CACHE", "HF_HUB_CACHE"}) {
    if (const std::string folder = variable(name); !folder.empty()) caches.hugging_face = folder;
  }
  if (const std::string folder = variable("OLLAMA_MODELS"); !folder.empty()) caches.ollama.emplace_back(folder);
  if (const fs::path user = variable("HOME"); user.is_absolute()) {
    caches.ollama.push_back(user / ".ollama/models");
    caches.lm_studio = {user / ".lmstudio/models", user / ".cache/lm-studio/models"};
  }
  caches.ollama.emplace_back("/usr/share/ollama/.ollama/models");
  const auto shared = base_folder("XDG_CACHE_HOME", ".cache");
  if (shared) caches.llama_cpp = *shared / "llama.cpp";
  if (const std::string folder = variable("LLAMA_CACHE"); !folder.empty()) caches.llama_cpp = folder;
  return caches;
}

std::string hugging_face_endpoint() {
  return variable("HF_ENDPOINT");
}

UserTokens user_tokens() {
  UserTokens tokens{variable("HF_TOKEN"), variable("HF_TOKEN_PATH"), variable("SSL_CERT_FILE")};
  const fs::path home = hugging_face_home();
  if (tokens.hugging_face_file.empty() && !home.empty()) tokens.hugging_face_file = home / "token";
  return tokens;
}

Library user_library(const fs::path& store) {
  const fs::path root = store.empty() ? data_folder().value_or("realizar") / "models" : store;
  return {Store(root), model_caches(), bundled_file()};
}

fs::path bundled_file() {
  const fs::path file = "models/realizar-tiny/realizar-tiny-Q8_0.gguf";
  for (const fs::path& folder : folders_of_this_code()) {
    // In an install tree bin/ and lib/ are next to share/realizar; in a build they are in build/<preset>, three levels
    // below the source.
    for (const fs::path& candidate : {folder / "../share/realizar" / file, folder / "../../.." / file}) {
      std::error_code error;
      if (fs::exists(candidate, error)) return fs::weakly_canonical(candidate, error);
    }
  }
  return {};
}

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
