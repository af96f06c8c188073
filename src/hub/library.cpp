#include "hub/library.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/try.h"
#include "hub/name_table.h"

namespace realizar::hub {
namespace {

ModelName bundled_name() {
  return {NameKind::kLocal, "", kBundledModel, "", "latest", ""};
}

LocalModel local_model(const Store& store, StoredModel stored) {
  const Manifest& manifest = stored.manifest;
  LocalModel model{manifest.name,   Place::kStore,     std::move(stored.path), manifest.n_bytes(),
                   manifest.source, manifest.revision, manifest.pulled};
  for (const StoredFile& file : manifest.files) {
    if (file.role == FileRole::kModel || file.role == FileRole::kFile) continue;
    if (file.role == FileRole::kAdapter) {
      model.adapters.push_back(store.blob_path(file.sha256));
    } else if (file.role == FileRole::kProjector) {
      model.has_projector = true;
    } else {
      model.texts.emplace(file.role, store.blob_path(file.sha256));
    }
  }
  return model;
}

}  // namespace

Result<LocalModel> Library::find(const ModelName& name) const {
  for (const ModelName& one : meanings(name)) {
    if (store_.has_name(one)) {
      RZ_TRY(StoredModel stored, store_.find(one));
      return local_model(store_, std::move(stored));
    }
    if (auto model = bundled(one)) return std::move(*model);
    if (auto model = find_in_caches(caches_, one)) return std::move(*model);
  }
  for (const ModelName& one : meanings(name)) {
    if (auto unfinished = unfinished_in_caches(caches_, one)) return *std::move(unfinished);
  }
  RZ_CHECK_OK(store_.check_readable());
  return not_found(fmt::format("there is no model '{}' on this machine", to_string(name)), "model");
}

std::vector<LocalModel> Library::list(std::vector<std::string>& notes) const {
  std::vector<LocalModel> models;
  for (StoredModel& stored : store_.list(notes)) models.push_back(local_model(store_, std::move(stored)));
  for (LocalModel& model : list_caches(caches_)) {
    if (!store_.has_name(model.name)) models.push_back(std::move(model));
  }
  const ModelName name = bundled_name();
  if (auto model = bundled(name); model && !store_.has_name(name)) models.push_back(std::move(*model));
  return models;
}

std::optional<LocalModel> Library::bundled(const ModelName& name) const {
  const auto version = version_at(bundled_);
  if (!version || name != bundled_name()) return std::nullopt;
  return LocalModel{name, Place::kBundled, bundled_, version->n_bytes, kBundledModel, "", ""};
}

Result<ModelTexts> read_texts(const LocalModel& model) {
  constexpr uint64_t kMaxTextBytes = 4u << 20;
  ModelTexts texts;
  for (const auto& [role, path] : model.texts) {
    RZ_TRY(std::string text, read_file_or_pipe(path, kMaxTextBytes));
    if (role == FileRole::kTemplate)
      texts.chat_template = std::move(text);
    else if (role == FileRole::kParams)
      texts.params = std::move(text);
    else if (role == FileRole::kSystem)
      texts.system = std::move(text);
    else if (role == FileRole::kMessages)
      texts.messages = std::move(text);
    else if (role == FileRole::kLicense)
      texts.license = std::move(text);
  }
  return texts;
}

}  // namespace realizar::hub
