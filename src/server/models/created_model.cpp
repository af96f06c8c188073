#include "server/models/created_model.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/generation_config.h"
#include "base/ascii_case.h"
#include "base/files.h"
#include "base/printable.h"
#include "base/try.h"
#include "hub/gguf_choice.h"
#include "hub/new_blob.h"
#include "server/http/json.h"
#include "server/models/model_card.h"
#include "text/ollama_template.h"

namespace realizar::server {
namespace {

using hub::FileRole;

constexpr uint64_t kMaxTextBytes = 4u << 20;

Error wrong_files(std::string message) {
  return invalid_argument("files: " + std::move(message), "files");
}

// Clients may give a single GGUF file any name.
Result<bool> is_gguf_blob(const std::filesystem::path& path) {
  constexpr std::string_view kMagic = "GGUF";
  RZ_TRY(const OpenFile file, open_regular_file(path));
  std::string magic(kMagic.size(), '\0');
  return read_exactly(file.fd, std::as_writable_bytes(std::span(magic))) && magic == kMagic;
}

Result<std::vector<hub::RepoFile>> uploaded_files(const hub::Store& store, const CreateWish& wish) {
  std::vector<hub::RepoFile> files;
  for (const CreateWish::File& file : wish.files) {
    const auto path = store.blob_path(file.sha256);
    const auto version = version_at(path);
    if (!version) {
      return not_found(fmt::format("files: there is no blob sha256:{}; POST /api/blobs uploads it", file.sha256),
                       "files");
    }
    std::string name = file.name;
    if (wish.files.size() == 1 && !ends_with_ignoring_case(name, ".gguf")) {
      RZ_TRY(const bool is_gguf, is_gguf_blob(path));
      if (is_gguf) name += ".gguf";
    }
    if (!hub::is_safe_file(name)) return wrong_files(fmt::format("'{}' is not a file name", shown(name)));
    files.push_back({std::move(name), version->n_bytes, {hub::Digest::Kind::kSha256, file.sha256}});
  }
  return files;
}

// A GGUF file with its parts, or the files of a SafeTensors folder.
Result<std::vector<hub::StoredFile>> model_files(const hub::Store& store, const CreateWish& wish) {
  RZ_TRY(const auto uploaded, uploaded_files(store, wish));
  const auto beginning = [&](const hub::RepoFile& file, uint64_t n_bytes) {
    return hub::read_beginning(store.blob_path(file.digest.hex), n_bytes);
  };
  const auto chosen = hub::choose_files(uploaded, "", "files", {beginning, true});
  const auto is_gguf = [](const hub::RepoFile& file) { return ends_with_ignoring_case(file.path, ".gguf"); };
  const auto n_gguf = static_cast<size_t>(std::ranges::count_if(uploaded, is_gguf));
  const bool are_several = n_gguf > 1 && (!chosen.ok() || chosen->size() != n_gguf);
  if (are_several) {
    return wrong_files(
        fmt::format("expected one GGUF file with its parts, or a folder of SafeTensors, actual {} GGUF files that are "
                    "not the parts of one",
                    n_gguf));
  }
  if (!chosen.ok()) return invalid_argument(chosen.error().message, "files");
  std::vector<hub::StoredFile> files;
  for (const hub::ChosenFile& one : *chosen) {
    files.push_back({one.role, one.file.path, one.file.digest.hex, one.file.n_bytes});
  }
  return files;
}

// Errors: those of the parameters, the same as from loading.
Result<std::string> merged_parameters(const std::string& parents, const std::string& given) {
  RZ_TRY(Json all, parse_json(parents.empty() ? "{}" : parents));
  RZ_TRY(const Json own, parse_json(given));
  if (!all.is_object()) all = Json::object();
  all.update(own);
  std::string text = dump(all);
  GenerationConfig unused;
  const auto applied = apply_ollama_params(text, unused, WrongParams::kError);
  if (!applied.ok()) return wrong("parameters", applied.error().message);
  return text;
}

// The manifest's text with that role; "" if there is none.
Result<std::string> text_of(const hub::Store& store, const hub::Manifest& manifest, FileRole role) {
  const hub::StoredFile* file = manifest.find(role);
  return file == nullptr ? Result<std::string>("") : store.read_blob(*file, kMaxTextBytes);
}

Status set_text(const hub::Store& store, hub::Manifest& manifest, FileRole role, const std::string& text) {
  std::erase_if(manifest.files, [&](const hub::StoredFile& file) { return file.role == role; });
  if (text.empty()) return {};
  if (text.size() > kMaxTextBytes) {
    const std::string name(hub::role_name(role));
    return invalid_argument(fmt::format("{}: expected at most {} bytes, actual {}", name, kMaxTextBytes, text.size()),
                            name);
  }
  // Not the name of an uploaded file, which are in the model's folder.
  RZ_TRY(hub::StoredFile file, hub::add_text(store, role, fmt::format("realizar-{}", hub::role_name(role)), text));
  manifest.files.push_back(std::move(file));
  return {};
}

Status set_texts(const hub::Store& store, hub::Manifest& manifest, const CreateWish& wish) {
  if (wish.chat_template) {
    if (!wish.chat_template->empty()) {
      RZ_TRY([[maybe_unused]] const auto compiled, text::compile_ollama_template(*wish.chat_template));
    }
    RZ_CHECK_OK(set_text(store, manifest, FileRole::kTemplate, *wish.chat_template));
  }
  if (wish.parameters) {
    RZ_TRY(const std::string parents, text_of(store, manifest, FileRole::kParams));
    RZ_TRY(const std::string merged, merged_parameters(parents, *wish.parameters));
    RZ_CHECK_OK(set_text(store, manifest, FileRole::kParams, merged));
  }
  if (wish.system) RZ_CHECK_OK(set_text(store, manifest, FileRole::kSystem, *wish.system));
  if (wish.license) RZ_CHECK_OK(set_text(store, manifest, FileRole::kLicense, *wish.license));
  if (wish.messages) RZ_CHECK_OK(set_text(store, manifest, FileRole::kMessages, *wish.messages));
  return {};
}

}  // namespace

std::optional<std::string> sha256_of_digest(std::string_view digest) {
  constexpr std::string_view kKind = "sha256";
  const bool has_kind = digest.size() > kKind.size() && digest.starts_with(kKind) &&
                        (digest[kKind.size()] == ':' || digest[kKind.size()] == '-');
  const std::string_view hex = has_kind ? digest.substr(kKind.size() + 1) : std::string_view();
  return hub::is_hex_digest(hex, hub::Digest::Kind::kSha256) ? std::optional(std::string(hex)) : std::nullopt;
}

Status create_stored(const hub::Store& store, const CreateWish& wish) {
  RZ_CHECK_OK(store.prepare());
  RZ_TRY(const hub::StoreLock lock, store.lock_shared());
  hub::Manifest manifest;
  if (wish.parent) {
    RZ_TRY(hub::StoredModel parent, store.find(*wish.parent));
    manifest = std::move(parent.manifest);
    manifest.source = hub::to_string(*wish.parent);
  } else {
    RZ_TRY(manifest.files, model_files(store, wish));
    manifest.source = hub::to_string(wish.name);
  }
  manifest.name = wish.name;
  manifest.pulled = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                                fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
  RZ_CHECK_OK(set_texts(store, manifest, wish));
  // A model that cannot be read gets no name.
  RZ_TRY(const hub::StoredModel model, store.lay_out(manifest));
  const auto card = read_model_card(model.path.string());
  if (!card.ok()) return wrong(wish.parent ? "from" : "files", card.error().message);
  return store.put(manifest);
}

}  // namespace realizar::server
