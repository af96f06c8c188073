#include "hub/foreign_caches.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "base/ascii_case.h"
#include "base/files.h"
#include "base/try.h"
#include "formats/folder_modules.h"
#include "formats/gguf_kind.h"
#include "formats/hf_folder.h"
#include "hub/gguf_choice.h"
#include "hub/ollama_manifest.h"

namespace realizar::hub {
namespace {

namespace fs = std::filesystem;

// Registries whose models Ollama stores, in folders of these names, and the prefixes of their names here.
struct Registry {
  const char* folder;
  NameKind kind;
  const char* scheme;
};
constexpr Registry kRegistries[] = {{"registry.ollama.ai", NameKind::kOllama, "ollama:"},
                                    {"hf.co", NameKind::kHuggingFace, "hf:"},
                                    {"huggingface.co", NameKind::kHuggingFace, "hf:"}};
constexpr size_t kMaxCacheFiles = 20'000;

// The files of a snapshot: links to blobs, which exist once they are complete.
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

// The commit of a branch, or the revision itself if it is a commit.
std::string commit_of(const fs::path& repository, const std::string& revision) {
  constexpr uint64_t kMaxRefBytes = 1000;
  auto text = read_file(repository / "refs" / revision, kMaxRefBytes);
  std::string commit = text.ok() ? *text : revision;
  while (!commit.empty() && (commit.back() == '\n' || commit.back() == ' ')) commit.pop_back();
  return is_safe_file(commit) && commit.find('/') == std::string::npos ? commit : "";
}

// Checks that a SafeTensors folder has its weights and modules.
Status check_folder(const fs::path& folder) {
  RZ_TRY(const FolderModules modules, read_folder_modules(folder));
  RZ_TRY([[maybe_unused]] const FolderParts parts, find_folder_parts(modules.transformer));
  return {};
}

// Chooses by the name's tag among the files of its repository in a folder. Errors: those of choose_files, NotFound (a
// part or a module of a folder).
Result<LocalModel> choose_in(const fs::path& folder, const std::vector<RepoFile>& files, const ModelName& name,
                             Place place, const std::string& revision) {
  RZ_TRY(const auto chosen, choose_files(files, name.tag, to_string(name), reader_of_folder(folder)));
  LocalModel model{name, place, folder, 0, to_string(name), revision, ""};
  for (const ChosenFile& one : chosen) model.n_bytes += one.file.n_bytes;
  const std::string& first = chosen.front().file.path;
  if (ends_with_ignoring_case(first, ".gguf")) {
    model.path = folder / first;
  } else {
    RZ_CHECK_OK(check_folder(folder));
  }
  return model;
}

std::optional<LocalModel> if_there(Result<LocalModel> model) {
  return model.ok() ? std::optional(std::move(*model)) : std::nullopt;
}

// Lists every GGUF model file of the folder, and the folder itself if it has SafeTensors.
void list_folder(const fs::path& folder, ModelName name, Place place, const std::string& revision,
                 std::vector<LocalModel>& models) {
  const auto files = files_below(folder);
  const FileReader reader = reader_of_folder(folder);
  const auto add = [&] {
    if (auto model = if_there(choose_in(folder, files, name, place, revision))) models.push_back(std::move(*model));
  };
  bool has_gguf = false;
  for (const RepoFile& file : files) {
    if (!begins_model(file.path) || !is_model(file, reader)) continue;
    has_gguf = true;
    name.tag = file.path;
    add();
  }
  if (has_gguf) return;
  name.tag.clear();
  add();
}

fs::path hugging_face_folder(const fs::path& hub, const ModelName& name) {
  return hub / fmt::format("models--{}--{}", name.owner, name.model);
}

Result<LocalModel> choose_snapshot(const fs::path& repository, const std::string& commit, const ModelName& name) {
  const fs::path snapshot = repository / "snapshots" / commit;
  return choose_in(snapshot, files_below(snapshot), name, Place::kHuggingFaceCache, commit);
}

// The last complete snapshot.
std::optional<LocalModel> find_other_snapshot(const fs::path& repository, const std::string& unfinished,
                                              const ModelName& name) {
  std::vector<std::pair<fs::file_time_type, std::string>> snapshots;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(repository / "snapshots", error)) {
    std::error_code ignored;
    snapshots.emplace_back(entry.last_write_time(ignored), entry.path().filename().string());
  }
  std::ranges::sort(snapshots, std::greater());
  for (const auto& [time, commit] : snapshots) {
    auto model = commit == unfinished ? std::nullopt : if_there(choose_snapshot(repository, commit, name));
    if (!model) continue;
    model->note = fmt::format("{}: snapshot {} in {} is not whole; {} is taken", to_string(name), unfinished,
                              repository.string(), commit);
    return model;
  }
  return std::nullopt;
}

std::optional<LocalModel> find_in_hugging_face(const fs::path& hub, const ModelName& name) {
  const fs::path repository = hugging_face_folder(hub, name);
  const std::string commit = commit_of(repository, name.revision);
  if (commit.empty()) return std::nullopt;
  if (auto model = if_there(choose_snapshot(repository, commit, name))) return model;
  return name.revision == "main" ? find_other_snapshot(repository, commit, name) : std::nullopt;
}

// LM Studio has no revisions: its files count as the main one.
std::optional<LocalModel> find_in_lm_studio(const fs::path& root, const ModelName& name) {
  const fs::path folder = root / name.owner / name.model;
  if (name.revision != "main") return std::nullopt;
  return if_there(choose_in(folder, files_below(folder), name, Place::kLmStudio, ""));
}

std::optional<LocalModel> find_in_registry(const fs::path& root, const Registry& registry, const ModelName& name) {
  const std::string tag = name.tag.empty() ? "latest" : name.tag;
  const fs::path path = root / "manifests" / registry.folder / name.owner / name.model / tag;
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

// Ollama has no revisions of other registries: its files count as the main one.
std::optional<LocalModel> find_in_ollama(const fs::path& root, const ModelName& name) {
  if (name.kind == NameKind::kHuggingFace && name.revision != "main") return std::nullopt;
  for (const Registry& registry : kRegistries) {
    if (registry.kind != name.kind) continue;
    if (auto model = find_in_registry(root, registry, name)) return model;
  }
  return std::nullopt;
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
    if (!name.ok()) continue;
    const fs::path repository = hugging_face_folder(hub, *name);
    const std::string commit = commit_of(repository, name->revision);
    if (commit.empty()) continue;
    const size_t n_before = models.size();
    list_folder(repository / "snapshots" / commit, *name, Place::kHuggingFaceCache, commit, models);
    if (models.size() > n_before) continue;
    if (auto model = find_other_snapshot(repository, commit, *name)) models.push_back(std::move(*model));
  }
}

void list_lm_studio(const fs::path& root, std::vector<LocalModel>& models) {
  std::error_code error;
  for (const auto& owner : fs::directory_iterator(root, error)) {
    std::error_code none;
    for (const auto& repository : fs::directory_iterator(owner.path(), none)) {
      const auto name =
          parse_name(fmt::format("hf:{}/{}", owner.path().filename().string(), repository.path().filename().string()));
      if (name.ok()) list_folder(repository.path(), *name, Place::kLmStudio, "", models);
    }
  }
}

void list_registry(const fs::path& root, const Registry& registry, std::vector<LocalModel>& models) {
  const fs::path folder = root / "manifests" / registry.folder;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (!entry->is_regular_file(ignored)) continue;
    const fs::path path = entry->path().lexically_relative(folder);
    const std::string tag = path.filename().string(), model = path.parent_path().generic_string();
    const auto name = parse_name(fmt::format("{}{}:{}", registry.scheme, model, tag));
    if (!name.ok()) continue;
    if (auto found = find_in_registry(root, registry, *name)) models.push_back(std::move(*found));
  }
}

constexpr size_t kMaxLlamaFiles = 20'000;
constexpr std::string_view kGgufEnding = ".gguf";

struct Repository {
  std::string owner, model;
  std::string prefix() const { return fmt::format("{}_{}_", owner, model); }
};

// "manifest=OWNER=REPO=TAG.json", which llama.cpp stores next to the files of a repository.
std::optional<Repository> repository_of_manifest(const std::string& file) {
  constexpr std::string_view kBeginning = "manifest=";
  if (!file.starts_with(kBeginning)) return std::nullopt;
  const size_t owner = kBeginning.size(), model = file.find('=', owner);
  const size_t tag = model == std::string::npos ? model : file.find('=', model + 1);
  if (tag == std::string::npos) return std::nullopt;
  return Repository{file.substr(owner, model - owner), file.substr(model + 1, tag - model - 1)};
}

// Used without a manifest: owners have no '_', and nearly every repository's name ends in GGUF.
std::optional<Repository> guessed_repository(const std::string& file) {
  constexpr std::string_view kMark = "gguf_";
  const size_t model = file.find('_');
  if (model == std::string::npos || model == 0) return std::nullopt;
  const size_t mark = lower_case(file).find(kMark, model + 1);
  if (mark == std::string::npos) return std::nullopt;
  return Repository{file.substr(0, model), file.substr(model + 1, mark + kMark.size() - 1 - (model + 1))};
}

struct CachedFile {
  fs::path path;
  ModelName name;    // of a repository, with the file as its tag; or local
  std::string file;  // in the repository
  uint64_t n_bytes;
};

std::optional<CachedFile> cached_file(const fs::path& path, const std::vector<Repository>& repositories) {
  const std::string flat = path.filename().string();
  std::optional<Repository> repository;
  for (const Repository& one : repositories) {
    const bool is_longer = !repository || one.model.size() > repository->model.size();
    if (flat.starts_with(one.prefix()) && is_longer) repository = one;
  }
  if (!repository) repository = guessed_repository(flat);
  std::string file = repository ? flat.substr(repository->prefix().size()) : flat;
  const auto name = repository ? parse_name(fmt::format("hf:{}/{}:{}", repository->owner, repository->model, file))
                               : parse_name(std::string_view(flat).substr(0, flat.size() - kGgufEnding.size()));
  std::error_code error;
  const uint64_t n_bytes = fs::file_size(path, error);
  if (error || !name.ok()) return std::nullopt;
  return CachedFile{path, *name, std::move(file), n_bytes};
}

std::vector<CachedFile> files_of(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::vector<Repository> repositories;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator() && paths.size() < kMaxLlamaFiles; entry.increment(error)) {
    const std::string file = entry->path().filename().string();
    std::error_code ignored;
    const bool is_model = ends_with_ignoring_case(file, kGgufEnding) && file.size() > kGgufEnding.size() &&
                          entry->is_regular_file(ignored);
    if (is_model) paths.push_back(entry->path());
    if (auto repository = repository_of_manifest(file)) repositories.push_back(std::move(*repository));
  }
  std::vector<CachedFile> files;
  for (const fs::path& path : paths) {
    if (auto file = cached_file(path, repositories)) files.push_back(std::move(*file));
  }
  return files;
}

// All parts of a split file, or the single file.
std::optional<LocalModel> model_of(const std::vector<CachedFile>& files, const ModelName& name) {
  const bool is_local = name.kind == NameKind::kLocal;
  const auto is_beside = [&](const CachedFile& file) {
    const ModelName& other = file.name;
    if (is_local || other.kind != name.kind) return other.kind == name.kind;
    return other.owner == name.owner && other.model == name.model && other.revision == name.revision;
  };
  std::vector<RepoFile> choices;
  for (const CachedFile& file : files) {
    if (is_beside(file)) choices.push_back({file.file, file.n_bytes, {}});
  }
  const auto cached = [&](const RepoFile& one) {
    return std::ranges::find_if(files,
                                [&](const CachedFile& file) { return is_beside(file) && file.file == one.path; });
  };
  const auto beginning = [&](const RepoFile& file, uint64_t n_bytes) {
    return read_beginning(cached(file)->path, n_bytes);
  };
  const auto chosen = choose_files(choices, is_local ? name.model + std::string(kGgufEnding) : name.tag,
                                   to_string(name), {beginning, true});
  if (!chosen.ok() || chosen->empty()) return std::nullopt;
  const auto first = cached(chosen->front().file);
  LocalModel model{name, Place::kLlamaCache, first->path, 0, to_string(name), "", ""};
  for (const ChosenFile& one : *chosen) model.n_bytes += one.file.n_bytes;
  return model;
}

// Files of a recognized repository have Hugging Face names; others have the name of their file, without its suffix.
// Nullopt: absent or incomplete.
std::optional<LocalModel> find_in_llama_cache(const fs::path& folder, const ModelName& name) {
  const bool is_file = name.kind == NameKind::kLocal && name.owner.empty() && name.tag == "latest";
  if (name.kind != NameKind::kHuggingFace && !is_file) return std::nullopt;
  return model_of(files_of(folder), name);
}

std::vector<LocalModel> list_llama_cache(const fs::path& folder) {
  const std::vector<CachedFile> files = files_of(folder);
  std::vector<LocalModel> models;
  for (const CachedFile& file : files) {
    const auto kind = gguf_kind_at(file.path);
    if (!begins_model(file.file) || kind.value_or(GgufKind::kModel) != GgufKind::kModel) continue;
    if (auto model = model_of(files, file.name)) models.push_back(std::move(*model));
  }
  return models;
}

}  // namespace

std::optional<LocalModel> find_in_caches(const ForeignCaches& caches, const ModelName& name) {
  for (const fs::path& root : caches.ollama) {
    if (auto model = find_in_ollama(root, name)) return model;
  }
  if (name.kind == NameKind::kOllama) return std::nullopt;
  if (name.kind == NameKind::kHuggingFace && !caches.hugging_face.empty()) {
    if (auto model = find_in_hugging_face(caches.hugging_face, name)) return model;
  }
  for (const fs::path& root : caches.lm_studio) {
    if (name.kind != NameKind::kHuggingFace) break;
    if (auto model = find_in_lm_studio(root, name)) return model;
  }
  return caches.llama_cpp.empty() ? std::nullopt : find_in_llama_cache(caches.llama_cpp, name);
}

std::optional<Error> unfinished_in_caches(const ForeignCaches& caches, const ModelName& name) {
  if (name.kind != NameKind::kHuggingFace || caches.hugging_face.empty()) return std::nullopt;
  const fs::path repository = hugging_face_folder(caches.hugging_face, name);
  const std::string commit = commit_of(repository, name.revision);
  std::error_code error;
  if (commit.empty() || !fs::is_directory(repository / "snapshots" / commit, error)) return std::nullopt;
  const auto model = choose_snapshot(repository, commit, name);
  // A quantization that nobody has downloaded counts as absent.
  const bool is_other = !model.ok() && !name.tag.empty() && model.error().code == ErrorCode::kNotFound;
  if (model.ok() || is_other) return std::nullopt;
  return not_found(
      fmt::format("'{0}' is in Hugging Face's cache, but not whole: {1}; to download it: realizar pull {0}",
                  to_string(name), model.error().message),
      "cache");
}

std::vector<LocalModel> list_caches(const ForeignCaches& caches) {
  std::vector<LocalModel> models;
  if (!caches.hugging_face.empty()) list_hugging_face(caches.hugging_face, models);
  for (const fs::path& root : caches.ollama) {
    for (const Registry& registry : kRegistries) list_registry(root, registry, models);
  }
  for (const fs::path& root : caches.lm_studio) list_lm_studio(root, models);
  if (!caches.llama_cpp.empty()) std::ranges::move(list_llama_cache(caches.llama_cpp), std::back_inserter(models));
  std::ranges::stable_sort(models, {}, [](const LocalModel& model) { return to_string(model.name); });
  const auto is_same = [](const LocalModel& a, const LocalModel& b) { return a.name == b.name; };
  const auto same = std::unique(models.begin(), models.end(), is_same);
  models.erase(same, models.end());
  return models;
}

}  // namespace realizar::hub
