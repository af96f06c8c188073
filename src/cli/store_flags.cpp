#include "cli/store_flags.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/try.h"
#include "cli/output.h"
#include "hub/locate.h"
#include "hub/user_folders.h"

namespace realizar::cli {
namespace {

constexpr const char* kHubGroup = "Names and downloads";

}  // namespace

void StoreFlags::add_to(Flags flags, Network network) {
  flags = flags.group(kHubGroup).advanced();
  flags.option("--models-store", folder, "Folder of the models that were pulled; created when the first one is",
               {.shown_default = "~/.local/share/realizar/models", .takes = kFolder});
  if (network == Network::kNone) return;
  add_hub_to(flags);
  flags.option("--connections", choices.n_connections, "Fetch N parts of a file at the same time",
               {.range = {1, 64}, .has_default = true});
}

void StoreFlags::add_hub_to(Flags flags) {
  flags = flags.group(kHubGroup).advanced();
  flags.flag("--offline", choices.offline, "Ask no server: use only what is on this machine");
  flags.option("--mirror", choices.mirror,
               "Server that is asked in place of huggingface.co (default: HF_ENDPOINT), or, for ollama: names, of "
               "registry.ollama.ai",
               {.shown_as = "URL"});
  flags.option("--token-file", choices.token_file,
               "File with a token for Hugging Face, or for the mirror (default: HF_TOKEN, which no mirror gets)",
               {.takes = kFile});
  flags.option("--ca-file", choices.ca_file,
               "Certificates (PEM) that are trusted, in place of the system's (default: SSL_CERT_FILE)",
               {.takes = kFile});
  flags.option("--timeout", choices.timeout_s,
               "Give a connection up that has brought nothing for N seconds, and try again",
               {.range = {1, 3600}, .has_default = true});
}

hub::Library StoreFlags::library() const {
  return hub::user_library(folder);
}

Result<hub::HubSettings> StoreFlags::hub_settings() const {
  return hub::user_hub_settings(choices);
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

Result<std::string> bundled_model_path(const std::string& command) {
  const std::filesystem::path file = hub::bundled_file();
  if (!file.empty()) return file.string();
  std::error_code error;
  return not_found(fmt::format("the bundled model is not beside {}; name a model: realizar {} MODEL",
                               std::filesystem::read_symlink("/proc/self/exe", error).string(), command),
                   hub::kBundledModel);
}

Result<std::string> bundled_in_place(const std::string& command, std::string_view does) {
  RZ_TRY(std::string path, bundled_model_path(command));
  warn(fmt::format("no model was named; {}, {}", bundled_text(), does));
  return path;
}

std::string bundled_text() {
  return fmt::format("{}, a toy of 4.5 million parameters", hub::kBundledModel);
}

}  // namespace realizar::cli
