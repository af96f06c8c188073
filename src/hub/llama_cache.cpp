#include "hub/llama_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/ascii_case.h"
#include "formats/gguf_kind.h"
#include "hub/gguf_choice.h"

namespace realizar::hub {
namespace {

namespace fs = std::filesystem;

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

}  // namespace

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

}  // namespace realizar::hub
