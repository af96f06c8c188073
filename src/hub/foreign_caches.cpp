#include "hub/foreign_caches.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/try.h"
#include "hub/gguf_choice.h"
#include "hub/ollama_registry.h"

namespace realizar::hub {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRegistry = "registry.ollama.ai";
constexpr size_t kMaxCacheFiles = 20'000;

// What a snapshot holds: links to blobs, which are there once they are whole.
std::vector<RepoFile> files_below(const fs::path& folder) {
  std::vector<RepoFile> files;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator() && files.size() < kMaxCacheFiles;
       entry.increment(error)) {
    std::error_code ignored;
    if (!fs::is_regular_file(entry->path(), ignored)) continue;
    const std::string path = entry->path().lexically_relative(folder).generic_string();
    if (is_safe_file(path)) files.push_back({path, fs::file_size(entry->path(), ignored), {}});
  }
  return files;
}

// The commit that a branch is, or the revision itself where it is one.
std::string commit_of(const fs::path& repository, const std::string& revision) {
  constexpr uint64_t kMaxRefBytes = 1000;
  auto text = read_file(repository / "refs" / revision, kMaxRefBytes);
  std::string commit = text.ok() ? *text : revision;
  while (!commit.empty() && (commit.back() == '\n' || commit.back() == ' ')) commit.pop_back();
  return is_safe_file(commit) && commit.find('/') == std::string::npos ? commit : "";
}

std::optional<LocalModel> find_in_hugging_face(const fs::path& hub, const ModelName& name) {
  const fs::path repository = hub / fmt::format("models--{}--{}", name.owner, name.model);
  const std::string commit = commit_of(repository, name.revision);
  if (commit.empty()) return std::nullopt;
  const fs::path snapshot = repository / "snapshots" / commit;
  const auto chosen = choose_files(files_below(snapshot), name.tag, to_string(name));
  if (!chosen.ok() || chosen->empty()) return std::nullopt;
  LocalModel model{name, Place::kHuggingFaceCache, snapshot, 0, to_string(name), commit, ""};
  for (const ChosenFile& one : *chosen) model.n_bytes += one.file.n_bytes;
  const std::string& first = chosen->front().file.path;
  if (first.ends_with(".gguf")) model.path = snapshot / first;
  return model;
}

std::optional<LocalModel> find_in_ollama(const fs::path& root, const ModelName& name) {
  const fs::path path = root / "manifests" / kRegistry / name.owner / name.model / name.tag;
  const auto text = read_file(path, kMaxManifestBytes);
  if (!text.ok()) return std::nullopt;
  const auto layers = parse_ollama_manifest(*text, path.string());
  if (!layers.ok()) return std::nullopt;
  LocalModel model{name, Place::kOllamaCache, {}, 0, to_string(name), "", ""};
  for (const OllamaLayer& layer : *layers) {
    const fs::path blob = root / "blobs" / ("sha256-" + layer.sha256);
    const auto version = version_at(blob);
    if (!version || version->n_bytes != layer.n_bytes) return std::nullopt;
    model.n_bytes += layer.n_bytes;
    if (layer.role == FileRole::kModel) {
      model.path = blob;
    } else if (layer.role == FileRole::kAdapter) {
      model.adapters.push_back(blob);
    } else if (layer.role == FileRole::kProjector) {
      model.has_projector = true;
    } else {
      model.texts.emplace(layer.role, blob);
    }
  }
  return model;
}

// Every GGUF file of a snapshot is a model, and so is a folder of SafeTensors.
void list_snapshot(const fs::path& hub, ModelName name, std::vector<LocalModel>& models) {
  const fs::path repository = hub / fmt::format("models--{}--{}", name.owner, name.model);
  const auto files = files_below(repository / "snapshots" / commit_of(repository, name.revision));
  bool has_gguf = false;
  for (const RepoFile& file : files) {
    const auto part = part_number(file.path);
    if (!file.path.ends_with(".gguf") || (part && part->no != 1) || file.path.find("mmproj") != std::string::npos)
      continue;
    has_gguf = true;
    name.tag = file.path;
    if (auto model = find_in_hugging_face(hub, name)) models.push_back(std::move(*model));
  }
  name.tag.clear();
  if (has_gguf) return;
  if (auto model = find_in_hugging_face(hub, name)) models.push_back(std::move(*model));
}

void list_hugging_face(const fs::path& hub, std::vector<LocalModel>& models) {
  constexpr std::string_view kBeginning = "models--", kBetween = "--";
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(hub, error)) {
    const std::string folder = entry.path().filename().string();
    if (!folder.starts_with(kBeginning)) continue;
    const size_t middle = folder.find(kBetween, kBeginning.size());
    if (middle == std::string::npos) continue;
    const std::string owner = folder.substr(kBeginning.size(), middle - kBeginning.size());
    const auto name = parse_name(fmt::format("hf:{}/{}", owner, folder.substr(middle + kBetween.size())));
    if (name.ok()) list_snapshot(hub, *name, models);
  }
}

void list_ollama(const fs::path& root, std::vector<LocalModel>& models) {
  const fs::path folder = root / "manifests" / kRegistry;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (!entry->is_regular_file(ignored)) continue;
    const fs::path path = entry->path().lexically_relative(folder);
    const std::string tag = path.filename().string(), model = path.parent_path().generic_string();
    const auto name = parse_name(fmt::format("ollama:{}:{}", model, tag));
    if (!name.ok()) continue;
    if (auto found = find_in_ollama(root, *name)) models.push_back(std::move(*found));
  }
}

}  // namespace

std::optional<LocalModel> find_in_caches(const ForeignCaches& caches, const ModelName& name) {
  if (name.kind == NameKind::kHuggingFace && !caches.hugging_face.empty()) {
    return find_in_hugging_face(caches.hugging_face, name);
  }
  if (name.kind != NameKind::kOllama) return std::nullopt;
  for (const fs::path& root : caches.ollama) {
    if (auto model = find_in_ollama(root, name)) return model;
  }
  return std::nullopt;
}

std::vector<LocalModel> list_caches(const ForeignCaches& caches) {
  std::vector<LocalModel> models;
  if (!caches.hugging_face.empty()) list_hugging_face(caches.hugging_face, models);
  for (const fs::path& root : caches.ollama) list_ollama(root, models);
  std::ranges::stable_sort(models, {}, [](const LocalModel& model) { return to_string(model.name); });
  const auto is_same = [](const LocalModel& a, const LocalModel& b) { return a.name == b.name; };
  const auto same = std::unique(models.begin(), models.end(), is_same);
  models.erase(same, models.end());
  return models;
}

}  // namespace realizar::hub
